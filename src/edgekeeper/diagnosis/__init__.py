"""What people ask about objects and the installation: which there are, why one is not ready, what is wrong around them.

Everything here reads: no function of this package writes to a cluster or a cloud.
"""
