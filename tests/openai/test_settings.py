"""Settings come from where they should, and a missing one names itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agents._settings import Settings, parse_env
from protocols._errors import SettingNotFoundError


def test_the_file_wins_over_the_environment(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=file\n")
    settings = Settings(path, environ={"A": "environment", "B": "environment"})
    assert (settings.find("A"), settings.find("B"), settings.find("C")) == (
        "file",
        "environment",
        None,
    )


def test_the_first_name_that_is_set_counts_and_an_empty_one_is_not() -> None:
    settings = Settings(environ={"FIRST": "", "SECOND": "x", "THIRD": "y"})
    assert settings.find("FIRST", "SECOND", "THIRD") == "x"


def test_a_missing_setting_says_what_to_set() -> None:
    with pytest.raises(SettingNotFoundError, match=r"pass api_key=…, or set A or B in the env"):
        Settings(environ={}).require("the key", "api_key", "A", "B")


def test_a_file_that_is_named_but_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingNotFoundError, match=r"nowhere\.env can't be read"):
        Settings(tmp_path / "nowhere.env")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain", "plain"),
        ("export A = spaced # comment", "spaced"),
        ("A='raw # \\n'", "raw # \\n"),
        ('A="quoted \\"x\\"\\n" # comment', 'quoted "x"\n'),
        ("A=sk-with#hash", "sk-with#hash"),
        ("A=", ""),
        ("A= # nothing", ""),
    ],
)
def test_the_usual_forms_of_a_line_are_read(line: str, value: str) -> None:
    assert parse_env(f"# comment\n\nnot a setting\n{line}\n") == {"A": value}


def test_a_file_may_have_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_text("NAME=žluť", encoding="utf-16")

    assert Settings(file, "utf-16", environ={}).find("NAME") == "žluť"
    with pytest.raises(SettingNotFoundError, match="can't be read"):
        Settings(file, environ={})
    with pytest.raises(SettingNotFoundError, match="can't be read"):
        Settings(file, "no such encoding", environ={})
