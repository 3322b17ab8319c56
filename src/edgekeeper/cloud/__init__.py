"""The clouds: how calls are made, remote collections mirrored and shared documents written. `aws/` and `cloudflare/`
know their provider; everything beside them knows none."""
