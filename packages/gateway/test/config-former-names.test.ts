import { describe, expect, test } from "vitest";
import { settingDefinitions } from "../src/config/setting-definitions.ts";
import { listProblems, parseToml } from "./config-fixture.ts";

/* Settings that were renamed: a file of the first version must still work. */

const upstream = '[upstreams.zai]\nbase_url = "https://api.z.ai/v4"\nspeaks = "chat"\n';

const toolGroups = [
  '[tools.files]\nfolder = "."',
  '[tools.shell]\nfolder = "."',
  "[tools.web]",
  "[tools.time]",
  "[tools.agents]",
  '[mcp.x]\nurl = "https://h.org"',
];

const renamed: [former: string, current: string][] = [
  ["[store]\nkeep_days = 30", "[store]\nretention_days = 30"],
  ["[chats]\nrounds = 5\nseconds = 60", "[chats]\nmax_rounds = 5\nmax_seconds = 60"],
  ['[chats]\nresults = "always"', '[chats]\nresult_approval = "always"'],
  ...toolGroups.flatMap((group): [string, string][] => [
    [`${group}\nresults = "always"`, `${group}\nresult_approval = "always"`],
    [`${group}\nresult_approval = "on error"`, `${group}\nresult_approval = "on_error"`],
    [`${group}\napproval = "ask always"`, `${group}\napproval = "ask_always"`],
  ]),
  // Shell commands cannot have this policy.
  ...toolGroups
    .filter((group) => !group.startsWith("[tools.shell]"))
    .map((group): [string, string] => [
      `${group}\napproval = "ask once"`,
      `${group}\napproval = "ask_once"`,
    ]),
  ["[chats]\nexact_time = true", "[chats]\nmessage_times = true"],
  ['[chats]\nresult_approval = "on error"', '[chats]\nresult_approval = "on_error"'],
  [
    `${upstream}[models.a]\nuse = "zai/x"\ntakes = ["image"]`,
    `${upstream}[models.a]\nuse = "zai/x"\ninput_modalities = ["image"]`,
  ],
  [
    '[clients.a]\ntoken = "a-token-of-a"\ntool_calls = "whole"',
    '[clients.a]\ntoken = "a-token-of-a"\ntool_calls = "complete"',
  ],
  [
    '[clients.a]\ntoken = "a-token-of-a"\nreasoning = "text"',
    '[clients.a]\ntoken = "a-token-of-a"\nreasoning = "raw"',
  ],
  [
    `${upstream}flags = { later_system = "hoist", same_role_twice = false, schema_flavour = "gemini" }`,
    `${upstream}flags = { late_system_messages = "hoist", consecutive_roles = false, schema_dialect = "gemini" }`,
  ],
];

describe("a setting of the first version that was renamed", () => {
  test.each(renamed)("%j means the same as %j, with a warning", (former, current) => {
    const { warnings: formerWarnings, ...formerConfig } = parseToml(former);
    const { warnings, ...config } = parseToml(current);
    expect(formerConfig).toEqual(config);
    expect(warnings).toEqual([]);
    for (const warning of formerWarnings)
      expect(warning).toMatch(
        /^d\.toml:\d+: \S+: (?:"[^"]+" )?was renamed to \S+; the old (?:name|value) still works$/,
      );
    expect(formerWarnings.length).toBeGreaterThan(0);
  });

  test("is in the cases of this test, and so is every former value", () => {
    const tested = renamed
      .flatMap(([former]) => parseToml(former).warnings)
      .map((warning) => {
        const [, path = warning, value] =
          /^d\.toml:\d+: (\S+): (?:("[\w ]+") )?was renamed to /.exec(warning) ?? [];
        const setting = path.replace(/^(upstreams|models|mcp|clients)\.\w+/, "$1.*");
        return value === undefined ? setting : `${setting}: ${value}`;
      });
    const expected = settingDefinitions.flatMap(({ path, formerName, formerValues = {} }) => [
      ...(formerName === undefined ? [] : [path.replace(/[^.]+$/, formerName)]),
      ...Object.keys(formerValues).map((value) => `${path}: "${value}"`),
    ]);
    expect(expected.length).toBeGreaterThan(0);
    expect(tested.toSorted()).toEqual(expected.toSorted());
  });

  test("can have a former value too, and both warnings name the line", () => {
    const { warnings, chats } = parseToml('[chats]\ntitles = false\nresults = "on error"');
    expect(chats.resultApproval).toBe("on_error");
    expect(warnings).toEqual([
      "d.toml:3: chats.results: was renamed to result_approval; the old name still works",
      'd.toml:3: chats.results: "on error" was renamed to "on_error"; the old value still works',
    ]);
  });

  test("is named in the error if its value is invalid", () => {
    expect(listProblems("[chats]\ntitles = false\nrounds = -1")).toEqual([
      "d.toml:3: chats.rounds: must be from 1 to 10000, got -1",
    ]);
  });

  test("in the wrong table points to the right one", () => {
    expect(listProblems("[server]\nkeep_days = 30")).toEqual([
      "d.toml:2: unknown setting server.keep_days (did you mean store.retention_days?)",
    ]);
  });

  test("does not count as a part of a model name with a dot", () => {
    expect(listProblems('[models.y]\ntakes = ["image"]')).toEqual([
      'd.toml:1: models.y.use: missing; write use = "upstream/model", or a list that is tried in order',
    ]);
  });

  test("is an error next to its current name", () => {
    expect(listProblems("[store]\nkeep_days = 30\nretention_days = 40")).toEqual([
      "d.toml:2: store.keep_days: was renamed to retention_days, which is also set; remove one of them",
    ]);
  });
});
