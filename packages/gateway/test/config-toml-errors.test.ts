import { expect, test } from "vitest";
import { ConfigError } from "../src/config/config-problems.ts";
import { parseConfig } from "../src/config/parse-config.ts";

/* Errors for typical mistakes in TOML: the position, the mistake, and what to write. */

function problems(text: string): string {
  try {
    parseConfig(text, { file: "d.toml", env: {} });
    return "";
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

test.each([
  ["missing quotes", "[server]\nhost = localhost", 'd.toml:2:8: .*a string must be in "quotes"'],
  ["a URL without quotes", "[upstreams.a]\nbase_url = http://x/v1", '2:12: .*"quotes"'],
  ["a bare Windows path", "[tools.files]\nfolder = C:\\Users\\me", "2:10: .*'single quotes'"],
  [
    "a Windows path in double quotes",
    '[tools.files]\nfolder = "C:\\Users\\me"',
    "2:.*backslash.*'single quotes'",
  ],
  [
    "a duplicate table",
    '[server]\nport = 1\n[server]\nhost = "x"',
    "3:2: \\[server\\] is defined twice, first on line 1",
  ],
  [
    "a duplicate setting",
    "[server]\nport = 1\nport = 2",
    "3:1: port is set twice, first on line 2",
  ],
  ["a wrong type", '[server]\nport = "4141"', "2: server.port: must be an integer, got a string"],
  [
    "an unknown setting",
    "[server]\nprot = 1",
    "2: unknown setting server.prot .*did you mean port",
  ],
  ["an unclosed bracket", "[server\nport = 1", "1:8: the bracket is not closed; write \\[NAME\\]"],
  [
    "an unclosed list",
    '[models]\nbest = ["a/b",\n"c/d"\n[server]\nport = 1',
    "4:1: the list that starts on line 2 is not closed; add \\]",
  ],
  [
    "an unclosed list at the end of the file",
    "x = [1, 2",
    "1:10: the list that starts on line 1 is not closed",
  ],
  ["a missing comma", '[mcp.a]\nargs = ["a" "b"]', "2:13: missing comma"],
  ["a trailing comma", "[server]\nport = 4141,", "2:12: remove the comma at the end"],
  [
    "a comment with //",
    '[upstreams.a]\nbase_url = "http://x" // mine',
    "2:23: comments start with #",
  ],
  ["a comment with ;", '[chats]\nmodel = "a/b" ; mine', "2:.*comments start with #"],
  [
    "typographic quotes",
    "[upstreams.a]\nbase_url = \u201Chttp://x\u201D",
    "2:12: replace the typographic quotes with straight ones",
  ],
  ["an encoding other than UTF-8", "\uFFFD\uFFFD[\0s\0e\0r\0v\0e\0r\0]\0", "not UTF-8"],
  ["a non-breaking space", "[server]\n\u00A0port = 1", "invisible character U\\+00A0"],
  [
    "a setting above all tables",
    "port = 4141",
    "1: unknown setting port .*did you mean port under \\[server\\]",
  ],
  [
    "a setting of an upstream above all tables",
    'base_url = "http://x"',
    "base_url under \\[upstreams.NAME\\]",
  ],
  ["YAML", "server:\n  port: 4141", "1:7: use = instead of a colon: NAME = VALUE"],
  ["JSON", '{"server": {}}', "1:1: the file looks like JSON"],
  ["an unclosed string", '[server]\nhost = "a', '2:8: the string is not closed; add "'],
  [
    "an unclosed string in single quotes",
    "[server]\nhost = 'a\nport = 1",
    "2:.*the string is not closed; add '",
  ],
  ["a missing value", "[server]\nhost =", "2:7: missing value"],
  ["a name without a value", "[server]\nport 4141", "2:6: missing =; write NAME = VALUE"],
  ["True", "[server]\ndemo = True", "2:8: write true or false"],
  [
    "a setting after a table header",
    '[upstreams.a] base_url = "x"',
    "1:15: .*start a new line after the \\]",
  ],
  ["a name with a slash", '[models]\nz/glm = "a/b"', "2:2: a name with .* must be in quotes"],
  [
    "a model's name with a dot",
    '[models]\nglm-4.6 = "a/b"',
    '2: models.glm-4: .*write "glm-4.6" = ',
  ],
])("an error in TOML is explained: %s", (_mistake, text, expected) => {
  expect(problems(text)).toMatch(new RegExp(expected));
});

test("a byte order mark, tabs and Windows line endings are valid", () => {
  expect(problems("\uFEFF[server]\r\n\tport = 4141\r\n")).toBe("");
});

test("error messages do not quote values, because they may be keys", () => {
  for (const text of [
    "api_key = sk-very-secret",
    'api_key = "sk-very-secret',
    "api_key = “sk-very-secret”",
  ])
    expect(problems(`[upstreams.a]\n${text}`)).not.toContain("sk-very");
});
