"""The expression language of compositions and validation rules (CEL)."""
