"""How AWS talks: requests read and answers written as the service models of botocore describe them.

    models      the services and operations, and their routes: method and path, target header, or action
    decode      a request's parameters, out of path, query string, headers and body
    constraints what the model itself demands of parameters: required, enumerated, length, pattern
    encode      a result as status, headers and body
    failures    an error as each protocol words it
    xml         text to elements, nothing else

Four protocols: rest-xml (CloudFront, Route 53), rest-json (API Gateway, Lambda), json (ACM) and query (STS). Readers and
writers are compiled from a shape once and are plain functions afterwards: that is where the speed comes from.
"""
