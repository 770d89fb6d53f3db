import { expect, test } from "vitest";
import { ConfigError } from "../src/config/problems.ts";
import { readConfig } from "../src/config/read.ts";

/* What is said of a file that somebody has mistyped: the place, the mistake itself, and what to write. */

function problems(text: string): string {
  try {
    readConfig(text, { file: "d.toml", env: {} });
    return "";
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

test.each([
  ["missing quotes", "[server]\nhost = localhost", 'd.toml:2:8: .*put a text in "quotes"'],
  ["an address without quotes", "[upstreams.a]\nbase_url = http://x/v1", '2:12: .*"quotes"'],
  ["a bare Windows path", "[tools.files]\nfolder = C:\\Users\\me", "2:10: .*'single quotes'"],
  [
    "a Windows path in double quotes",
    '[tools.files]\nfolder = "C:\\Users\\me"',
    "2:.*backslash.*'single quotes'",
  ],
  [
    "a table that is there twice",
    '[server]\nport = 1\n[server]\nhost = "x"',
    "3:2: \\[server\\] is there twice, first in line 1",
  ],
  [
    "a setting that is there twice",
    "[server]\nport = 1\nport = 2",
    "3:1: port is set twice, first in line 2",
  ],
  ["a wrong type", '[server]\nport = "4141"', "2: server.port: is a text; write a whole number"],
  ["an unknown setting", "[server]\nprot = 1", "2: server.prot: .*did you mean port"],
  [
    "a bracket that is not closed",
    "[server\nport = 1",
    "1:8: the bracket is not closed; write \\[NAME\\]",
  ],
  [
    "a list that is not closed",
    '[models]\nbest = ["a/b",\n"c/d"\n[server]\nport = 1',
    "4:1: the list that begins in line 2 is not closed; add \\]",
  ],
  [
    "a list at the end that is not closed",
    "x = [1, 2",
    "1:10: the list that begins in line 1 is not closed",
  ],
  ["a comma that is missing", '[mcp.a]\nargs = ["a" "b"]', "2:13: a comma is missing"],
  ["a comma too many", "[server]\nport = 4141,", "2:12: has a comma at its end"],
  [
    "a comment with //",
    '[upstreams.a]\nbase_url = "http://x" // mine',
    "2:23: a comment begins with #",
  ],
  ["a comment with ;", '[chats]\nmodel = "a/b" ; mine', "2:.*a comment begins with #"],
  [
    "typographic quotes",
    "[upstreams.a]\nbase_url = \u201Chttp://x\u201D",
    "2:12: has typographic quotes; write straight ones",
  ],
  ["an encoding other than UTF-8", "\uFFFD\uFFFD[\0s\0e\0r\0v\0e\0r\0]\0", "not UTF-8"],
  ["a blank that is none", "[server]\n\u00A0port = 1", "invisible character \\(U\\+00A0\\)"],
  ["a setting above all tables", "port = 4141", "1: port: .*did you mean port below \\[server\\]"],
  [
    "a setting of an upstream above all tables",
    'base_url = "http://x"',
    "base_url below \\[upstreams.NAME\\]",
  ],
  ["YAML", "server:\n  port: 4141", "1:7: has a colon; write NAME = VALUE"],
  ["JSON", '{"server": {}}', "1:1: the file looks like JSON"],
  ["a text that is not closed", '[server]\nhost = "a', '2:8: the text is not closed; add "'],
  [
    "a text in single quotes that is not closed",
    "[server]\nhost = 'a\nport = 1",
    "2:.*the text is not closed; add '",
  ],
  ["a value that is missing", "[server]\nhost =", "2:7: the value is missing"],
  ["a name without a value", "[server]\nport 4141", "2:6: has no =; write NAME = VALUE"],
  ["True", "[server]\ndemo = True", "2:8: write true or false"],
  [
    "a setting beside the table's name",
    '[upstreams.a] base_url = "x"',
    "1:15: .*begin a new line after the \\]",
  ],
  ["a name with a slash", '[models]\nz/glm = "a/b"', "2:2: a name with .* stands in quotes"],
  [
    "a model's name with a dot",
    '[models]\nglm-4.6 = "a/b"',
    '2: models.glm-4: .*write "glm-4.6" = ',
  ],
])("%s", (_mistake, text, expected) => {
  expect(problems(text)).toMatch(new RegExp(expected));
});

test("a byte order mark, tabs and Windows line ends are no mistakes", () => {
  expect(problems("\uFEFF[server]\r\n\tport = 4141\r\n")).toBe("");
});

test("no value is repeated, for it may be a key", () => {
  for (const text of [
    "api_key = sk-very-secret",
    'api_key = "sk-very-secret',
    "api_key = “sk-very-secret”",
  ])
    expect(problems(`[upstreams.a]\n${text}`)).not.toContain("sk-very");
});
