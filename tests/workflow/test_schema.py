"""results/README.md is what the field tables say."""

from pathlib import Path

from collmark.core.field_table import STORED, field_table
from collmark.workflow.schema import schema_text

PAGE = Path(__file__).parents[2] / "results" / "README.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema_text(), "write it anew: collmark schema > results/README.md"


def test_every_field_is_explained() -> None:
    text = schema_text()
    for struct in STORED:
        fields = list(field_table(struct))
        assert [field.name for field in fields] == list(struct.__struct_fields__)
        assert all(field.meaning and f"| `{field.name}` |" in text for field in fields)
