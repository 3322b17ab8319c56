"""The functions beyond the language itself, by origin: extensions of CEL, Kubernetes' libraries, kro's own.

    extensions/   strings, lists, sets, base64
    formatting/   what `format` does, in two dialects
    kubernetes/   quantities, URLs, addresses, versions, named formats, patterns, lists
    kro/          seeded randomness, merging of maps, JSON, hashes, lists by index, `omit()`

Values that the language does not have (`Quantity`, `Url`, `IP`, …) and their parsers are modules of their own, beside the
library that declares the functions. `kubecel.environments` puts the libraries together.

Everything here runs on input of strangers: sizes are checked before results are built, numbers before they are computed,
and patterns are RE2's.
"""
