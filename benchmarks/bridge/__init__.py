"""Measurements of the bridge and the platform APIs on top of it, on the embedded server and the simulated AWS.

figures     every figure of the group and its goal
fleet       instances of TubiLambdaService, and a LambdaPermission with a full policy, in virtual time
source      how many lines the kinds have
"""
