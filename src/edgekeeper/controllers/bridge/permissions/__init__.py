"""LambdaPermission: statements of the resource policy of a Lambda function."""
