"""Every public name is documented, and every list of public names is sorted."""

import ast
from collections.abc import Iterator

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# A second definition of the same name, or the parent's meaning again: the docstring stands elsewhere.
DOCUMENTED_ELSEWHERE = ("overload", "override", "setter", "deleter")


def public(body: list[ast.stmt]) -> Iterator[Definition]:
    """Yield the public definitions of a module or class, and those of its public classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def needs_docstring(node: Definition) -> bool:
    names = [ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list]
    return not any(name in DOCUMENTED_ELSEWHERE for name in names)


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    return None


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the order that ruff writes."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_every_public_name_has_a_docstring(code: dict[str, ast.Module]) -> None:
    missing = [f"{path}:1 the module" for path, tree in code.items() if not ast.get_docstring(tree)]
    missing += [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in code.items()
        for node in public(tree.body)
        if needs_docstring(node) and not ast.get_docstring(node)
    ]
    assert not missing, "without a docstring:\n" + "\n".join(missing)


def test_lists_of_public_names_are_sorted_and_complete(code: dict[str, ast.Module]) -> None:
    faults = []
    for path, tree in code.items():
        names = exported(tree)
        if names is None:
            continue
        if names != sorted(set(names), key=order):
            faults.append(f"{path}: sort __all__: {sorted(set(names), key=order)}")
        defined = {node.name for node in tree.body if isinstance(node, Definition)}
        hidden = {name for name in defined if not name.startswith("_")} - set(names)
        if hidden:
            faults.append(f"{path}: public but not in __all__: {sorted(hidden)}")
    assert not faults, "\n".join(faults)
