import { describe, expect, test } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { problemsIn, read } from "./reading-config.ts";

const beside = { folder: "/etc/dw", home: "/u/me" };

function toolsIn(toml: string) {
  return readConfig(toml, { file: "d.toml", env: {}, ...beside }).tools;
}

describe("the files group", () => {
  test("is within a folder, seen from that of the configuration", () => {
    expect(toolsIn('[tools.files]\nfolder = "notes"').files).toEqual({
      folder: "/etc/dw/notes",
      readOnly: false,
      approval: undefined,
      results: undefined,
      unmask: true,
    });
    expect(toolsIn('[tools.files]\nfolder = "~"').files?.folder).toBe("/u/me");
    expect(read('[tools.files]\nfolder = "notes"').tools.files?.folder).toBe("notes");
  });

  test("needs it", () => {
    expect(problemsIn("[tools.files]\nread_only = true")).toEqual([
      'd.toml:1: tools.files.folder: is missing; write folder = "…", the folder that the tools may not leave',
    ]);
  });
});

describe("the shell group", () => {
  test("runs where it says, else in the folder of files", () => {
    const files = '[tools.files]\nfolder = "/w"\n';
    expect(toolsIn(files).shell).toEqual({
      folder: "/w",
      allow: [],
      timeoutMs: 120_000,
      env: [],
      approval: undefined,
      results: undefined,
      unmask: true,
    });
    expect(toolsIn(`${files}[tools.shell]\nfolder = "x"`).shell?.folder).toBe("/etc/dw/x");
    expect(toolsIn('[tools.shell]\nallow = ["ls"]').shell).toBeUndefined();
  });

  test("is never run unasked, but for what is allowed", () => {
    for (const approval of ["auto", "ask once"])
      expect(problemsIn(`[tools.shell]\nfolder = "/w"\napproval = "${approval}"`)).toEqual([
        'd.toml:3: tools.shell.approval: would run commands unasked; name those that may be run without a question: allow = ["git status"]',
      ]);
    expect(problemsIn('[tools.shell]\nallow = ["ls", "*"]')).toEqual([
      'd.toml:2: tools.shell.allow[1]: would run any command without a question; name single commands, or use "@read-only"',
    ]);
    expect(toolsIn('[tools.shell]\nfolder = "/w"\napproval = "ask always"').shell?.approval).toBe(
      "ask always",
    );
  });

  test.each(['"A=1"', '"$HOME"', '"a b"'])("gets no variable %s", (name) => {
    expect(problemsIn(`[tools.shell]\nenv = ["HOME", ${name}]`)).toEqual([
      "d.toml:2: tools.shell.env[1]: is no name of a variable; write the name alone, without $ and value",
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

  test.each(sections)("[%s may say who is asked", (section) => {
    const { tools, mcp } = read(`[${section}\napproval = "ask always"\nresults = "on error"`);
    const named: Record<string, unknown> = { ...tools, ...Object.fromEntries(mcp) };
    const name = /\.(\w+)\]/.exec(section)?.[1] ?? "";
    expect(named[name]).toMatchObject({ approval: "ask always", results: "on error" });
  });

  const ofTools = sections.filter((section) => !section.startsWith("tools.agents"));
  test.each(ofTools)(
    "[%s may be kept from private values, and is not unless it says so",
    (section) => {
      const name = /\.(\w+)\]/.exec(section)?.[1] ?? "";
      const named = (more: string): unknown => {
        const { tools, mcp } = read(`[${section}\n${more}`);
        return new Map<string, unknown>([...Object.entries(tools), ...mcp]).get(name);
      };
      expect(named("")).toMatchObject({ unmask: true });
      expect(named("unmask = false")).toMatchObject({ unmask: false });
    },
  );

  test("but that of agents: whom they ask are models, which are told no private values anyway", () => {
    expect(problemsIn("[tools.agents]\nunmask = false")).toEqual([
      expect.stringContaining("tools.agents.unmask: is no setting"),
    ]);
  });

  test.each(sections)("[%s refuses other words", (section) => {
    const words = section.startsWith("tools.shell") ? "" : '"auto", "ask once", ';
    const found = problemsIn(`[${section}\napproval = "ask alway"\nresults = "on eror"`);
    expect(found.map((text) => text.replace(/^.*?: .*?: /, ""))).toEqual([
      `is none of its words; write one of ${words}"ask always"; did you mean ask always?`,
      'is none of its words; write one of "never", "on error", "always"; did you mean on error?',
    ]);
  });
});

test.each([
  [
    "[tools.fles]",
    "tools.fles: is no built-in tool group; did you mean files? (a server of tools is written [mcp.fles])",
  ],
  [
    "[tools.github]",
    "tools.github: is no built-in tool group; known are files, shell, web, time, agents (a server of tools is written [mcp.github])",
  ],
  ["tools = 1", "tools: is a whole number; write a table: [tools]"],
  ["tools.web = true", "tools.web: is true; write a table: [tools.web]"],
  ["tools.web.max_kb = 0", "tools.web.max_kb: is 0; write a number from 1 to 102400"],
  [
    "tools.time.zone = 1",
    "tools.time.zone: is no setting; known here are approval, results, unmask",
  ],
])("%s is refused", (toml, what) => {
  expect(problemsIn(toml)).toEqual([`d.toml:1: ${what}`]);
});

describe("the store", () => {
  test("is on, in the user's data folder, for 90 days and 4 GB", () => {
    expect(read("[store]").store).toEqual({
      enabled: true,
      path: undefined,
      keepDays: 90,
      maxMb: 4096,
    });
  });

  test("may be elsewhere, seen from the folder of the configuration, and for ever", () => {
    const toml = '[store]\npath = "../tasks.db"\nkeep_days = 0\nmax_mb = 0.5e2\nenabled = false';
    expect(readConfig(toml, { file: "d.toml", env: {}, ...beside }).store).toEqual({
      enabled: false,
      path: "/etc/tasks.db",
      keepDays: undefined,
      maxMb: 50,
    });
  });

  test.each([
    ["keep_days = -1", "keep_days: is -1; write a number from 0 to 36500"],
    ["max_mb = 0", "max_mb: is 0; write a number at least 1"],
    ["enabled = 'no'", "enabled: is a text; write true or false"],
    ["path = ''", "path: is empty; leave it out, or write a text"],
    ["keep_day = 1", "keep_day: is no setting; did you mean keep_days?"],
  ])("refuses %s", (line, what) => {
    expect(problemsIn(`[store]\n${line}`)).toEqual([`d.toml:2: store.${what}`]);
  });
});
