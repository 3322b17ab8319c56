"""From a syntax tree to closures: one Python function per node, each with its operands captured.

`compiling` walks the tree and chooses; the other modules make the functions: `access` for variables and fields, `logic`
for operators that do not evaluate everything, `operations` for the common ones that do, `calls` (with `dispatch`) for
all other functions, `construction` for lists and maps, `loops` (with `shapes`) for macros. `code` says what a frame is
and how costs are charged.
"""
