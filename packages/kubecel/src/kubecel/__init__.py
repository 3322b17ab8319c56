"""The expression language of compositions and validation rules (CEL), without anything of Kubernetes inside.

    text ─ lexer, parser, macros ─▶ tree ─ checker ─▶ types ─ evaluation ─▶ closures = program ─▶ value

Start at `environment`: an `Environment` compiles texts to `Program`s. `environments` has the two that are used here.
`functions` says how libraries are declared, `values` what values are, `errors` what can go wrong; `standard` is the
language's own library, `library` those of others. Expressions are written by people we do not know: `limits` and the
cost budget of each evaluation see to it that none of them can hang the process or eat its memory.
"""
