"""APIGatewayDomain: a custom domain name with its certificate, its API mapping and its DNS records."""
