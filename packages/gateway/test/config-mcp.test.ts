import { describe, expect, test } from "vitest";
import type { McpConfig } from "../src/config/config.ts";
import { readConfig } from "../src/config/read.ts";
import { redactorFor } from "../src/security/redactor.ts";
import { problemsIn, read } from "./reading-config.ts";

function server(lines: string, env: Record<string, string> = {}): McpConfig {
  const options = { file: "d.toml", env, folder: "/etc/dw", home: "/u/me" };
  const { mcp, warnings } = readConfig(`[mcp.x]\n${lines}`, options);
  expect(warnings).toEqual([]);
  const found = mcp.get("x");
  if (found === undefined) throw new Error("there is no server");
  return found;
}

describe("a server of tools", () => {
  test("is a program", () => {
    expect(server('command = "npx"\nargs = ["-y"]')).toEqual({
      name: "x",
      transport: { kind: "command", command: "npx", args: ["-y"], env: {}, cwd: undefined },
      timeoutMs: 60_000,
      tools: undefined,
      approval: undefined,
      results: undefined,
      unmask: true,
      secrets: [],
    });
  });

  test("is an address", () => {
    expect(server('url = "https://mcp.example.org/mcp"').transport).toEqual({
      kind: "url",
      url: "https://mcp.example.org/mcp",
      headers: {},
    });
  });

  test.each([
    ["npx", "npx"],
    ["./server", "/etc/dw/server"],
    ["bin/server", "/etc/dw/bin/server"],
    ["/opt/my server/run", "/opt/my server/run"],
    ["~/bin/server", "/u/me/bin/server"],
  ])("with the command %s starts %s", (command, started) => {
    expect(server(`command = "${command}"`).transport).toMatchObject({ command: started });
  });

  test.each([
    ["", 'mcp.x: has no server; write command = "…" for a program, or url = "https://…"'],
    ['command = "c"\nurl = "https://h"', "mcp.x.url: is there beside command; keep one of the two"],
    ['url = "https://h"\nargs = ["a"]', "mcp.x.args: does not go with url; take it out"],
    ['url = "https://h"\ncwd = "/"', "mcp.x.cwd: does not go with url; take it out"],
    ['url = "https://h"\nenv = { A = "b" }', "mcp.x.env: does not go with url; take it out"],
    [
      'command = "c"\nheaders = { a = "b" }',
      "mcp.x.headers: does not go with command; take it out",
    ],
    ['url = "mcp"', "mcp.x.url: is no address; write https://HOST/PATH"],
    [
      'url = "ws://h/mcp"',
      "mcp.x.url: is no web address; write https://HOST/PATH, or http:// for a local server",
    ],
    [
      'url = "https://u:p@h/mcp"',
      'mcp.x.url: has a user or password in it; take it out and set headers = { authorization = "env:NAME" }',
    ],
    [
      'command = "c"\ntools = []',
      "mcp.x.tools: is empty; name a tool, or leave it out and all are used",
    ],
    [
      'command = "c"\ntimeout_seconds = 0',
      "mcp.x.timeout_seconds: is 0; write a number from 1 to 86400",
    ],
    ['comand = "c"\nurl = "https://h"', "mcp.x.comand: is no setting; did you mean command?"],
    ["command = 1", "mcp.x.command: is a whole number; write a text in quotes"],
    ["url = 1", "mcp.x.url: is a whole number; write a text in quotes"],
  ])("may not be %j", (lines, what) => {
    expect(
      problemsIn(`[mcp.x]\n${lines}`).map((text) => text.replace(/^d\.toml:\d: /, "")),
    ).toEqual([what]);
  });

  test.each(["files", "shell", "web", "time", "agents"])(
    "may not have the name of the built-in group %s",
    (name) => {
      expect(problemsIn(`[mcp.${name}]\ncommand = "c"`)).toEqual([
        `d.toml:1: mcp.${name}: has the name of a built-in tool group; take another one`,
      ]);
    },
  );

  test.each(["1x", '"a b"', '"a.b"', '"a/b"', "x".repeat(33)])("may not be called %s", (name) => {
    expect(problemsIn(`[mcp.${name}]\ncommand = "c"`)).toEqual([
      `d.toml:1: mcp.${name}: is no name for a server of tools; begin with a letter and use letters, digits, - and _ only, 32 at most`,
    ]);
  });

  test("is a table", () => {
    expect(problemsIn('[mcp]\nx = "npx"')).toEqual([
      "d.toml:2: mcp.x: is a text; write a table: [mcp.x]",
    ]);
  });

  test("whose command has its arguments in it is a warning", () => {
    expect(read('[mcp.x]\ncommand = "npx -y tickets"').warnings).toEqual([
      'd.toml:2: mcp.x.command: has a space in it, and only the program stands here; write what follows it as args = ["…"]',
    ]);
  });

  test("that gets a key unencrypted is a warning, but not in the house", () => {
    const at = (url: string, more = "") => read(`[mcp.x]\nurl = "${url}"\n${more}`).warnings;
    const headers = 'headers = { x-key = "k" }';
    const warning =
      "d.toml:2: mcp.x.url: sends its headers over the network unencrypted; write https://";
    expect(at("http://mcp.example.org/mcp", headers)).toEqual([warning]);
    expect(at("http://mcp.example.org/mcp?key=k")).toEqual([
      "d.toml:2: mcp.x.url: sends its query over the network unencrypted; write https://",
    ]);
    expect(at("http://mcp.example.org/mcp")).toEqual([]);
    expect(at("http://127.0.0.1:3000/mcp", headers)).toEqual([]);
    expect(at("https://mcp.example.org/mcp", headers)).toEqual([]);
  });
});

describe("the variables of a program", () => {
  const env = (line: string) => `command = "c"\nenv = { ${line} }`;

  test("are written down, or come from the environment", () => {
    const toml = env('A = "env:OUTER", B = " b ", EMPTY = ""');
    expect(server(toml, { OUTER: "o" }).transport).toMatchObject({
      env: { A: "o", B: " b ", EMPTY: "" },
    });
  });

  test("may have what no header could carry, such as a key of several lines", () => {
    const pem = "-----BEGIN KEY-----\nä\n-----END KEY-----";
    expect(server(env(`A = ${JSON.stringify(pem)}, B = "env:PEM"`), { PEM: pem })).toMatchObject({
      transport: { env: { A: pem, B: pem } },
      secrets: [pem],
    });
  });

  test("that are not set are left out with a warning", () => {
    const { mcp, warnings } = read(`[mcp.x]\n${env('A = "env:NOT_SET"')}`);
    expect(mcp.get("x")?.transport).toMatchObject({ env: {} });
    expect(warnings).toEqual([
      "d.toml:3: mcp.x.env.A: the environment variable NOT_SET is not set; the program starts without it",
    ]);
  });

  test("that were meant as variables are a warning", () => {
    expect(read(`[mcp.x]\n${env('A = "$OUTER"')}`).warnings).toEqual([
      'd.toml:3: mcp.x.env.A: looks like the name of a variable; write "env:" before it, without $',
    ]);
  });

  test.each([
    ['"A-B" = "x"', "A-B: is no name of a variable; use letters, digits and _"],
    ["A = 1", 'A: is a whole number; write "env:NAME", or a text in quotes'],
    [
      'A = "env:"',
      'A: has no name of a variable after env:; write "env:NAME" with letters, digits and _',
    ],
    [String.raw`A = "\u0000"`, "A: has a character that no variable can carry; write it anew"],
  ])("may not be %s", (line, what) => {
    expect(problemsIn(`[mcp.x]\n${env(line)}`)).toEqual([`d.toml:3: mcp.x.env.${what}`]);
  });

  test("are a table", () => {
    expect(problemsIn('[mcp.x]\ncommand = "c"\nenv = ["A"]')).toEqual([
      'd.toml:3: mcp.x.env: is a list; write a table of texts: { NAME = "…" }',
    ]);
  });
});

describe("the headers for a server", () => {
  const headers = (line: string) => `[mcp.x]\nurl = "https://h/mcp"\nheaders = { ${line} }`;

  test("are by their names in lower case, without those that are not set", () => {
    const config = read(headers('Authorization = "env:A", X-B = "env:B"'), { A: "Bearer a" });
    expect(config.mcp.get("x")?.transport).toMatchObject({
      headers: { authorization: "Bearer a" },
    });
    expect(config.warnings).toEqual([
      "d.toml:3: mcp.x.headers.X-B: the environment variable B is not set; the header is not sent",
    ]);
  });

  test.each([
    ['"a b" = "x"', '"a b": is no name of a header; use letters, digits and -'],
    ['host = "x"', "host: is set by the gateway itself; take it out"],
    ['a = ""', 'a: is empty; leave it out, or write "env:NAME"'],
  ])("may not be %s", (line, what) => {
    expect(problemsIn(headers(line))).toEqual([`d.toml:3: mcp.x.headers.${what}`]);
  });
});

test("what a server of tools is given in secret is taken out of every message", () => {
  const config = read(
    `[mcp.a]
command = "c"
env = { PLAIN = "env:OUTER", TICKETS_TOKEN = "written-1", GITHUB_PAT = "written-2", MODE = "production", DB = "postgres://u:p@host/db" }
[mcp.b]
url = "https://h/mcp?apiKey=in-query&region=europe"
headers = { Authorization = "Bearer written-3", x-plain = "env:OUTER_HEADER", x-team = "builders" }
`,
    { OUTER: "from-outside", OUTER_HEADER: "header-1" },
  );
  const secrets = redactorFor(config);
  for (const secret of [
    "from-outside",
    "written-1",
    "written-2",
    "postgres://u:p@host/db",
    "in-query",
    "Bearer written-3",
    "header-1",
  ])
    expect(secrets.redact(`said ${secret}.`)).toBe("said [redacted].");
  const harmless = "production europe builders";
  expect(secrets.redact(harmless)).toBe(harmless);
});
