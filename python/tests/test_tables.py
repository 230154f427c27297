"""Tables that stand in Python as they stand in the program: neither may change alone. What a table of the program says is read
from its source, and the source's keys are held to those that the built program has."""

import re
import subprocess

import pytest
from conftest import ROOT

from batchplus import arguments, arrange, comparison, config_values, quantities, store, sweep_grid

SOURCE = ROOT / "src"
WRAPPED_FIELD = re.compile(r'(?:\b(incidental|younger)\(\s*)?\b(\w+)\(\s*"(\w+)",\s*&C::(\w+)')


class Field:
    """A row of config_fields()."""

    def __init__(self, key, topic, decides_result, left_out):
        self.key, self.topic, self.decides_result, self.left_out = key, topic, decides_result, left_out


def source(path):
    return (SOURCE / path).read_text()


def value_left_out(text, wrapper, maker, field):
    """The value that all runs had before there was the field; None for fields that always were."""
    if wrapper == "younger":
        return re.findall(r'"([^"]*)"\s*\)', field)[-1]
    body = re.search(rf"^ConfigField {maker}\(.*?^}}", text, re.MULTILINE | re.DOTALL)[0]
    assigned = re.search(r"left_out_of_id = (.*);", body)
    if not assigned or "std::move" in assigned[1]:
        return None
    if assigned[1].startswith('"'):
        return assigned[1].strip('"')
    constant = re.fullmatch(r"format_value\((\w+)\)", assigned[1])[1]
    return re.search(rf"{constant} = (\w+);", body)[1]


@pytest.fixture(scope="module")
def fields():
    text = source("config/config_fields.cpp")
    table = text[text.index("& config_fields() {"):text.index("std::string suggest_key(")]
    found = []
    for topic in re.split(r"\{Topic::k", table)[1:]:
        rows = list(WRAPPED_FIELD.finditer(topic))
        ends = [*(row.start() for row in rows[1:]), len(topic)]
        for row, end in zip(rows, ends):
            wrapper, maker, key, member = row.groups()
            assert key == member
            left_out = value_left_out(text, wrapper, maker, topic[row.start():end])
            found.append(Field(key, re.match(r"\w+", topic)[0], wrapper != "incidental", left_out))
    assert len({field.key for field in found}) == len(found) == table.count("&C::") > 50
    assert sum("decides_result = false" in line for line in text.splitlines()) == 1  # in incidental()
    return found


def test_keys_of_data_and_network_are_a_task(fields):
    assert config_values.TASK == {field.key for field in fields if field.topic in ("Data", "Network")} - config_values.INCIDENTAL


def test_keys_that_do_not_decide_a_result(fields):
    assert config_values.INCIDENTAL == {field.key for field in fields if not field.decides_result}


def test_keys_that_older_runs_lack(fields):
    assert config_values.YOUNGER == {field.key: field.left_out for field in fields if field.left_out is not None}


def test_keys_that_a_config_may_lack(fields):
    unset = re.findall(r"^  std::(?:string|optional<\w+>) (\w+);", source("config/run_config.h"), re.MULTILINE)
    assert config_values.OPTIONAL == set(unset)
    assert config_values.OPTIONAL <= {field.key for field in fields}


def test_the_source_is_that_of_the_program(fields, program, call, tmp_path):
    """Or the tests above would hold Python to another program."""
    keys = {field.key for field in fields}
    said = subprocess.run([program, "train", "--help"], capture_output=True, text=True, check=True).stdout
    options = {name.replace("-", "_") for name in re.findall(r"^  --([\w-]+)", said, re.MULTILINE)}
    assert keys - options == {"kernels_revision", "local_batch_norm"}  # what the program itself writes there
    call("train", "--dataset", "synthetic", "--train-limit", 100, "--test-limit", 50, "--inner-batch", 25, "--epochs", 1,
         "--out", tmp_path / "run", "--quiet")
    written = set(store.read_run(tmp_path / "run").config)
    assert keys - config_values.OPTIONAL <= written <= keys


@pytest.mark.parametrize("command", arguments.FLAGS)
def test_options_without_a_value(command, program):
    own = {"report": ["report"], "sweep": ["sweep_options", "serve_options"]}.get(command, [f"{command}_options"])
    text = "".join(source(f"cli/{file}.cpp") for file in ["program", *own])
    flags = {name.replace("-", "_") for name in re.findall(r'add_flag\(\s*"!?--([\w-]+)"', text)}
    assert text.count("add_flag") == len(flags) and arguments.FLAGS[command] == flags
    # The program shows what a value is of beside all options but these.
    said = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    shown = re.findall(r"^  (?:-\w,)?--([\w-]+)(?:\{\w+\})?( TEXT| INT| FLOAT)?", said, re.MULTILINE)
    assert {name.replace("-", "_") for name, value in shown if not value} - {"help"} == flags


def test_keys_in_the_order_of_a_report():
    text = source("report/arrange.cpp")

    def names(table):
        return re.findall(r'"(\w+)"', re.search(rf"{table} = {{(.*?)}}", text, re.DOTALL)[1])

    assert arrange._MOST_TELLING == names("kMostTelling")
    assert sorted(arrange._TESTED) == sorted(names("kTested"))
    assert arrange._LONGEST_LABEL == int(re.search(r"kLongest = (\d+)", text)[1])


def test_quantities_of_which_more_is_better():
    rows = re.findall(r'\{\.name = "(\w+)"(.*?)\}', source("report/quantities.cpp"), re.DOTALL)
    assert len(rows) > 20
    assert quantities.HIGHER_IS_BETTER == {name for name, rest in rows if "is_higher_better = true" in rest}
    assert quantities.WITHOUT_BEST == {name for name, rest in rows if "has_best = false" in rest}


def test_columns_that_are_compared_each_with_each():
    assert comparison._MOST_PAIRED == int(re.search(r"kMostPaired = (\d+)", source("report/paired_table.cpp"))[1])


def test_formats_and_states():
    assert sweep_grid._FORMAT == int(re.search(r"kFormatVersion = (\d+)", source("config/sweep_file.cpp"))[1])
    assert store.FORMAT_VERSION == int(re.search(r"kRunFormatVersion = (\d+)", source("store/run_directory.h"))[1])
    page = (ROOT / "docs/run-directory.md").read_text()
    for state in store._STATES:
        assert f"`{state}`" in page or f'"{state}"' in page, state
