"""Where the model file is looked for, and what is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agents._local._files import cache_directory, model_path, require_gguf
from protocols._model_errors import ModelFileError


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/trio-actors/models")),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, Path("/x/trio-actors/models")),
        ("linux", {}, Path.home() / ".cache/trio-actors/models"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/trio-actors/models"),
        ("darwin", {}, Path.home() / "Library/Caches/trio-actors/models"),
        ("win32", {"LOCALAPPDATA": "/l"}, Path("/l/trio-actors/Cache/models")),
        ("win32", {}, Path.home() / ".cache/trio-actors/models"),
    ],
)
def test_models_are_kept_in_the_users_cache(
    platform: str, environ: dict[str, str], expected: Path
) -> None:
    assert cache_directory(platform, environ) == expected


def test_a_given_path_wins_over_the_environment_which_wins_over_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert model_path().parent == cache_directory()
    monkeypatch.setenv("ACTORS_MODEL", "~/mine.gguf")
    assert model_path() == Path.home() / "mine.gguf"
    assert model_path("given.gguf") == Path("given.gguf")


def test_a_home_that_cannot_be_found_is_a_typed_error() -> None:
    with pytest.raises(ModelFileError, match="set HOME"):
        model_path("~nobody-of-that-name/x.gguf")


def test_a_missing_model_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="actors model fetch") as caught:
        require_gguf(tmp_path / "none.gguf")
    assert caught.value.path == str(tmp_path / "none.gguf")


def test_a_folder_is_no_model_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="can't be read"):
        require_gguf(tmp_path)


def test_a_file_of_another_format_is_no_model_file(tmp_path: Path) -> None:
    other = tmp_path / "model.gguf"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelFileError, match="no GGUF"):
        require_gguf(other)
