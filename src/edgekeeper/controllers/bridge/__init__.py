"""The kinds of `bridge.ack.tubi.internal`: what AWS Controllers for Kubernetes (ACK) leave to be done.

ack          the kinds of ACK that are read or made here, and how their objects tell how they are
cluster      objects of the cluster that ours refer to
failures     errors in the four classes of the bridge, as conditions and status show them
metrics      bridge_…
permissions  LambdaPermission
domains      APIGatewayDomain
"""
