import { describe, expect, test } from "vitest";
import { createRedactor } from "../src/security/create-redactor.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { listProblems, parseToml, formatProblem } from "./config-fixture.ts";

const fileContext = { folder: "/etc/dw", home: "/u/me" };

function parseTools(toml: string) {
  return parseConfig(toml, { file: "d.toml", env: {}, ...fileContext }).tools;
}

describe("the files group", () => {
  test("has a folder relative to the configuration", () => {
    expect(parseTools('[tools.files]\nfolder = "notes"').files).toEqual({
      folder: "/etc/dw/notes",
      readOnly: false,
      approval: undefined,
      resultApproval: undefined,
      unmask: true,
    });
    expect(parseTools('[tools.files]\nfolder = "~"').files?.folder).toBe("/u/me");
    expect(parseToml('[tools.files]\nfolder = "notes"').tools.files?.folder).toBe("notes");
  });

  test("requires a folder", () => {
    expect(listProblems("[tools.files]\nread_only = true")).toEqual([
      'd.toml:1: tools.files.folder: missing; write folder = "…", the only folder that the tools can access',
    ]);
  });
});

describe("the shell group", () => {
  test("runs in its own folder, else in that of files", () => {
    const files = '[tools.files]\nfolder = "/w"\n';
    expect(parseTools(files).shell).toEqual({
      folder: "/w",
      allow: [],
      timeoutMs: 120_000,
      env: [],
      approval: undefined,
      resultApproval: undefined,
      unmask: true,
    });
    expect(parseTools(`${files}[tools.shell]\nfolder = "x"`).shell?.folder).toBe("/etc/dw/x");
    expect(parseTools('[tools.shell]\nallow = ["ls"]').shell).toBeUndefined();
  });

  test("always needs approval, except for allowed commands", () => {
    for (const approval of ["auto", "ask_once", "ask once"])
      expect(listProblems(`[tools.shell]\nfolder = "/w"\napproval = "${approval}"`)).toEqual([
        'd.toml:3: tools.shell.approval: would run all commands without approval; list those that need none, such as allow = ["git status"]',
      ]);
    expect(listProblems('[tools.shell]\nallow = ["ls", "*"]')).toEqual([
      'd.toml:2: tools.shell.allow[1]: would allow every command without approval; list individual commands, or use "@read-only"',
    ]);
    expect(
      parseTools('[tools.shell]\nfolder = "/w"\napproval = "ask_always"').shell?.approval,
    ).toBe("ask_always");
  });

  test.each(['"A=1"', '"$HOME"', '"a b"'])("cannot have the variable %s", (name) => {
    expect(listProblems(`[tools.shell]\nenv = ["HOME", ${name}]`)).toEqual([
      "d.toml:2: tools.shell.env[1]: must be the name of an environment variable, without $ and value",
    ]);
  });
});

describe("every tool group", () => {
  const sections = [
    'tools.files]\nfolder = "/w"',
    'tools.shell]\nfolder = "/w"',
    "tools.web]\nmax_kb = 1",
    "tools.time]\n",
    "tools.agents]\n",
    'mcp.x]\ncommand = "x"',
  ];

  test.each(sections)("can set approval policies: [%s", (section) => {
    const { tools, mcp } = parseToml(
      `[${section}\napproval = "ask_always"\nresult_approval = "on_error"`,
    );
    const named: Record<string, unknown> = { ...tools, ...Object.fromEntries(mcp) };
    const name = /\.(\w+)\]/.exec(section)?.[1] ?? "";
    expect(named[name]).toMatchObject({ approval: "ask_always", resultApproval: "on_error" });
  });

  const unmaskSections = sections.filter((section) => !section.startsWith("tools.agents"));
  test.each(unmaskSections)("receives private values unless unmask is false: [%s", (section) => {
    const name = /\.(\w+)\]/.exec(section)?.[1] ?? "";
    const named = (more: string): unknown => {
      const { tools, mcp } = parseToml(`[${section}\n${more}`);
      return new Map<string, unknown>([...Object.entries(tools), ...mcp]).get(name);
    };
    expect(named("")).toMatchObject({ unmask: true });
    expect(named("unmask = false")).toMatchObject({ unmask: false });
  });

  test("except agents has the setting unmask: sub-agents call models, which never receive private values", () => {
    expect(listProblems("[tools.agents]\nunmask = false")).toEqual([
      expect.stringContaining("unknown setting tools.agents.unmask"),
    ]);
  });

  test.each(sections)("rejects unknown policies: [%s", (section) => {
    const others = section.startsWith("tools.shell") ? "" : 'one of "auto", "ask_once", ';
    const problems = listProblems(
      `[${section}\napproval = "ask alway"\nresult_approval = "on eror"`,
    );
    expect(problems.map((text) => text.replace(/^.*?: .*?: /, ""))).toEqual([
      `must be ${others}"ask_always" (did you mean ask_always?)`,
      'must be one of "never", "on_error", "always" (did you mean on_error?)',
    ]);
  });
});

test.each([
  [
    "[tools.fles]",
    "tools.fles: unknown tool group (did you mean files?); for an MCP server write [mcp.fles]",
  ],
  [
    "[tools.github]",
    "tools.github: unknown tool group; known groups: files, shell, web, time, agents; for an MCP server write [mcp.github]",
  ],
  ["tools = 1", "tools: must be a table ([tools]), got an integer"],
  ["tools.web = true", "tools.web: must be a table ([tools.web]), got true"],
  ["tools.web.max_kb = 0", "tools.web.max_kb: must be from 1 to 102400, got 0"],
  [
    "tools.time.zone = 1",
    "unknown setting tools.time.zone; known settings: approval, result_approval, unmask",
  ],
])("%s is an error", (toml, what) => {
  expect(listProblems(toml)).toEqual([`d.toml:1: ${what}`]);
});

describe("the store", () => {
  test("is enabled by default, in the data folder, for 90 days and 4 GB", () => {
    expect(parseToml("[store]").store).toEqual({
      enabled: true,
      path: undefined,
      url: undefined,
      schema: "deltawire",
      retentionDays: 90,
      maxMb: 4096,
      responseDays: 30,
      responsesMaxMb: 1024,
      maxConnections: 10,
      s3: undefined,
    });
  });

  test("can be in another folder and without time limit", () => {
    const toml = '[store]\npath = "../tasks.db"\nkeep_days = 0\nmax_mb = 0.5e2\nenabled = false';
    expect(parseConfig(toml, { file: "d.toml", env: {}, ...fileContext }).store).toEqual({
      enabled: false,
      path: "/etc/tasks.db",
      url: undefined,
      schema: "deltawire",
      retentionDays: undefined,
      maxMb: 50,
      responseDays: 30,
      responsesMaxMb: 1024,
      maxConnections: 10,
      s3: undefined,
    });
  });

  test("can be a PostgreSQL database whose URL is in the environment", () => {
    const url = "postgres://me:geheim@db.example:5432/chats";
    const toml = '[store]\nurl = "env:DATABASE_URL"\nschema = "team"';
    const { store } = parseConfig(toml, { file: "d.toml", env: { DATABASE_URL: url } });
    expect(store).toMatchObject({ url, schema: "team", path: undefined });
    expect(
      createRedactor(parseConfig(toml, { file: "d.toml", env: { DATABASE_URL: url } })).redact(
        "login with geheim",
      ),
    ).not.toContain("geheim");
  });

  test.each([
    ['url = "env:NO_SUCH_VARIABLE"', "url: the environment variable NO_SUCH_VARIABLE is not set"],
    [
      'url = "mysql://me:geheim@db/chats"',
      'url: must be the URL of a PostgreSQL database with one host, such as "postgres://user:password@host:5432/database", with %2F for /, %40 for @ and %23 for # in the password',
    ],
    ...[
      "a.example,b.example/chats",
      "a.example:5432,b.example:5432/chats",
      "a.example,b.example:5432/chats",
      "/chats?host=a.example,b.example",
      "a.example%2Cb.example/chats",
    ].map((hosts): [string, string] => [
      `url = "postgres://me:geheim@${hosts}"`,
      'url: must be the URL of a PostgreSQL database with one host, such as "postgres://user:password@host:5432/database", with %2F for /, %40 for @ and %23 for # in the password',
    ]),
    ...["ge/heim", "12#heim", "12?heim"].map((password): [string, string] => [
      `url = "postgres://me:${password}@db/chats"`,
      'url: must be the URL of a PostgreSQL database with one host, such as "postgres://user:password@host:5432/database", with %2F for /, %40 for @ and %23 for # in the password',
    ]),
    [
      'path = "x.db"\nurl = "postgres://me:geheim@db/chats"',
      "path: is not used with store.url; remove one of them",
    ],
    [
      'schema = "Team Chats"',
      "schema: must consist of lower-case letters, digits and _, and not begin with a digit",
    ],
    ["retention_days = -1", "retention_days: must be from 0 to 36500, got -1"],
    ["max_mb = 0", "max_mb: must be at least 1, got 0"],
    ["enabled = 'no'", "enabled: must be true or false, got a string"],
    ["path = ''", "path: must not be empty; remove it or write a string"],
    ["retention_day = 1", "unknown setting retention_day (did you mean retention_days?)"],
  ])("rejects %s", (line, what) => {
    expect(listProblems(`[store]\n${line}`)).toEqual([formatProblem(2, "store", what)]);
  });
});
