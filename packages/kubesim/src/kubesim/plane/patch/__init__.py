"""The three kinds of patch that carry their own rules; server-side apply lives in `kubesim.plane.apply`.

    json_patch               RFC 6902: a list of operations on paths
    merge_patch              RFC 7386: null removes, objects merge, everything else replaces
    strategic_merge_patch    Kubernetes' own: lists merge by key, steered by the schema and by `$` directives

All are pure: the result shares nothing with the document or the patch, so the caller may change it freely and try the
same patch again on a newer document. Refusals are `StatusError`s with the real server's code and words.
"""

from kubesim.plane.patch.golang import go_text
from kubesim.plane.patch.json_patch import json_patch, json_patch_complaints
from kubesim.plane.patch.merge import merge_patch
from kubesim.plane.patch.strategic import strategic_merge_patch

__all__ = ["go_text", "json_patch", "json_patch_complaints", "merge_patch", "strategic_merge_patch"]
