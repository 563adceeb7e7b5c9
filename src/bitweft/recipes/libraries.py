"""Compile what only compiled code calls into its callers alone.

numba optimizes every function, and makes machine code of it, once for itself and once more in each function
that calls it; only what Python calls is ever run for itself. Here all others stay as they are until the entry
that they are linked into is optimized as a whole, which takes half of the time, and leaves one form of each
entry: that which is run where it is compiled, and that which is kept, are the same.

Kept code is loaded as quickly as it can be run: numba would first read, of every function, the form that
others link in, which takes nine tenths of the time, and make ready to compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys  # type: ignore[attr-defined]


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


class Entry(JITCodeLibrary):
    """Hold a function that Python calls. Once kept and loaded, it reads what others link in if one does."""

    _bitcode: bytes | None = None

    def serialize_using_object_code(self) -> Any:
        """Return what is kept: numba's, and the names of what is defined, which it would read from it."""
        name, kind, (code, bitcode) = super().serialize_using_object_code()  # type: ignore[no-untyped-call]
        module = self._get_module_for_linking()
        values = [*module.functions, *module.global_variables]
        return name, kind, (code, bitcode, [value.name for value in values if not value.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Entry:
        name, _, (code, bitcode, defined) = state
        self = cls(codegen, name)
        self.enable_object_caching()  # type: ignore[no-untyped-call]
        self._set_compiled_object(code)  # type: ignore[no-untyped-call]
        self._bitcode = bitcode
        self._finalize_final_module()  # type: ignore[no-untyped-call]
        codegen._engine._defined_symbols.update(defined)
        return self

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode is not None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()  # type: ignore[no-untyped-call]


@contextmanager
def making(codegen: Any, kind: type[JITCodeLibrary]) -> Iterator[None]:
    """Make libraries of one kind; under numba's lock."""
    before = codegen._library_class
    codegen._library_class = kind
    try:
        yield
    finally:
        codegen._library_class = before


def load(kept: Any, signature: Any, target: Any) -> Any:
    """Load a kept function from numba's cache, or return None, as its `load_overload` does.

    That one first makes all of numba ready to compile, which takes longer than the rest, and which compiling
    does by itself. It is called where a version of numba has no other.
    """
    with making(target.codegen(), Entry):
        if not hasattr(kept, "_load_overload"):
            return kept.load_overload(signature, target)
        rtsys.initialize(target)  # the memory that compiled code counts references of
        with kept._guard_against_spurious_io_errors():
            return kept._load_overload(signature, target)


class LinkingCompiler(Compiler):
    """Compile an entry from Python whole, and all that it calls, numba's own functions too, to be linked."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, under numba's lock."""
        codegen = self.state.targetctx.codegen()
        if not self.state.flags.no_cpython_wrapper:
            self.state.library = Entry(codegen, func.__qualname__)  # type: ignore[no-untyped-call]
            self.state.library.enable_object_caching()
        with making(codegen, Linked):
            return super().compile_extra(func)  # type: ignore[no-untyped-call]
