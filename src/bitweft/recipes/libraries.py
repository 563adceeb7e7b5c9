"""Compile what only compiled code calls into its callers alone.

numba optimizes every function, and makes machine code of it, once for itself and once more in each function
that calls it; only what Python calls is ever run for itself. Here all others stay as they are until the entry
that they are linked into is optimized as a whole, which takes half of the time, and leaves one form of each
entry: that which is run where it is compiled, and that which is kept, are the same.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _NoAddresses:
    """Stand for the machine code that a linked library does not have."""

    def set_env(self, name: str, env: object) -> None:
        """Do nothing: the entry's library holds the environments of all that it calls."""


class Linked(JITCodeLibrary):
    """Hold a function that is only linked into others."""

    def finalize(self) -> None:
        """Link what the function calls; optimize nothing, and make no machine code."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is none."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> _NoAddresses:
        """Return what has nothing to set."""
        return _NoAddresses()


class LinkingCompiler(Compiler):
    """Compile an entry from Python whole, and all that it calls, numba's own functions too, to be linked."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, under numba's lock."""
        codegen = self.state.targetctx.codegen()
        if not self.state.flags.no_cpython_wrapper:
            self.state.library = type(codegen)._library_class(codegen, func.__qualname__)
            self.state.library.enable_object_caching()
        before = codegen._library_class
        codegen._library_class = Linked
        try:
            return super().compile_extra(func)  # type: ignore[no-untyped-call]
        finally:
            codegen._library_class = before
