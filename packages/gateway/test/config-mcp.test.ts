import { describe, expect, test } from "vitest";
import type { McpConfig } from "../src/config/config.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { createRedactor } from "../src/security/create-redactor.ts";
import { listProblems, parseToml } from "./config-fixture.ts";

function server(lines: string, env: Record<string, string> = {}): McpConfig {
  const options = { file: "d.toml", env, folder: "/etc/dw", home: "/u/me" };
  const { mcp, warnings } = parseConfig(`[mcp.x]\n${lines}`, options);
  expect(warnings).toEqual([]);
  const config = mcp.get("x");
  if (config === undefined) throw new Error("no MCP server x");
  return config;
}

describe("an MCP server", () => {
  test("can be a program", () => {
    expect(server('command = "npx"\nargs = ["-y"]')).toEqual({
      name: "x",
      transport: { kind: "command", command: "npx", args: ["-y"], env: {}, cwd: undefined },
      timeoutMs: 60_000,
      tools: undefined,
      approval: undefined,
      resultApproval: undefined,
      unmask: true,
      secrets: [],
    });
  });

  test("can be a URL", () => {
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
    ["", 'mcp.x: missing command or url; write command = "…" for a program, or url = "https://…"'],
    [
      'command = "c"\nurl = "https://h"',
      "mcp.x.url: cannot be combined with command; remove one of them",
    ],
    ['url = "https://h"\nargs = ["a"]', "mcp.x.args: cannot be combined with url; remove it"],
    ['url = "https://h"\ncwd = "/"', "mcp.x.cwd: cannot be combined with url; remove it"],
    ['url = "https://h"\nenv = { A = "b" }', "mcp.x.env: cannot be combined with url; remove it"],
    [
      'command = "c"\nheaders = { a = "b" }',
      "mcp.x.headers: cannot be combined with command; remove it",
    ],
    ['url = "mcp"', "mcp.x.url: must be a URL such as https://HOST/PATH"],
    [
      'url = "ws://h/mcp"',
      "mcp.x.url: must start with https://, or with http:// for a local server",
    ],
    [
      'url = "https://u:p@h/mcp"',
      'mcp.x.url: must not contain a user name or password; set headers = { authorization = "env:NAME" } instead',
    ],
    [
      'command = "c"\ntools = []',
      "mcp.x.tools: must not be empty; name a tool, or remove the setting to use all tools",
    ],
    ['command = "c"\ntimeout_seconds = 0', "mcp.x.timeout_seconds: must be from 1 to 86400, got 0"],
    ['comand = "c"\nurl = "https://h"', "unknown setting mcp.x.comand (did you mean command?)"],
    ["command = 1", "mcp.x.command: must be a string in quotes, got an integer"],
    ["url = 1", "mcp.x.url: must be a string in quotes, got an integer"],
  ])("is an error with %j", (lines, what) => {
    expect(
      listProblems(`[mcp.x]\n${lines}`).map((text) => text.replace(/^d\.toml:\d: /, "")),
    ).toEqual([what]);
  });

  test.each(["files", "shell", "web", "time", "agents"])(
    "cannot have the name of the built-in group %s",
    (name) => {
      expect(listProblems(`[mcp.${name}]\ncommand = "c"`)).toEqual([
        `d.toml:1: mcp.${name}: is the name of a built-in tool group; choose another name`,
      ]);
    },
  );

  test.each(["1x", '"a b"', '"a.b"', '"a/b"', "x".repeat(33)])("cannot be named %s", (name) => {
    expect(listProblems(`[mcp.${name}]\ncommand = "c"`)).toEqual([
      `d.toml:1: mcp.${name}: invalid MCP server name; start with a letter and use only letters, digits, - and _, at most 32 characters`,
    ]);
  });

  test("must be a table", () => {
    expect(listProblems('[mcp]\nx = "npx"')).toEqual([
      "d.toml:2: mcp.x: must be a table ([mcp.x]), got a string",
    ]);
  });

  test("is a warning if its command contains arguments", () => {
    expect(parseToml('[mcp.x]\ncommand = "npx -y tickets"').warnings).toEqual([
      'd.toml:2: mcp.x.command: must be only the program; move its arguments to args = ["…"]',
    ]);
  });

  test("is a warning if keys are sent unencrypted, except in private networks", () => {
    const at = (url: string, more = "") => parseToml(`[mcp.x]\nurl = "${url}"\n${more}`).warnings;
    const headers = 'headers = { x-key = "k" }';
    const warning =
      "d.toml:2: mcp.x.url: sends its headers unencrypted over the network; use https://";
    expect(at("http://mcp.example.org/mcp", headers)).toEqual([warning]);
    expect(at("http://mcp.example.org/mcp?key=k")).toEqual([
      "d.toml:2: mcp.x.url: sends its query unencrypted over the network; use https://",
    ]);
    expect(at("http://mcp.example.org/mcp")).toEqual([]);
    expect(at("http://127.0.0.1:3000/mcp", headers)).toEqual([]);
    expect(at("https://mcp.example.org/mcp", headers)).toEqual([]);
  });
});

describe("the variables of an MCP program", () => {
  const env = (line: string) => `command = "c"\nenv = { ${line} }`;

  test("are literal or from the environment", () => {
    const toml = env('A = "env:OUTER", B = " b ", EMPTY = ""');
    expect(server(toml, { OUTER: "o" }).transport).toMatchObject({
      env: { A: "o", B: " b ", EMPTY: "" },
    });
  });

  test("can have values that headers cannot have, such as a key of several lines", () => {
    const pem = "-----BEGIN KEY-----\nä\n-----END KEY-----";
    expect(server(env(`A = ${JSON.stringify(pem)}, B = "env:PEM"`), { PEM: pem })).toMatchObject({
      transport: { env: { A: pem, B: pem } },
      secrets: [pem],
    });
  });

  test("are omitted with a warning if they are not set", () => {
    const { mcp, warnings } = parseToml(`[mcp.x]\n${env('A = "env:NOT_SET"')}`);
    expect(mcp.get("x")?.transport).toMatchObject({ env: {} });
    expect(warnings).toEqual([
      "d.toml:3: mcp.x.env.A: the environment variable NOT_SET is not set; the program starts without it",
    ]);
  });

  test("are a warning if they look like variable names", () => {
    expect(parseToml(`[mcp.x]\n${env('A = "$OUTER"')}`).warnings).toEqual([
      'd.toml:3: mcp.x.env.A: looks like the name of an environment variable; to use its value, write "env:NAME" without $',
    ]);
  });

  test.each([
    ['"A-B" = "x"', "A-B: invalid variable name; use letters, digits and _"],
    ["A = 1", 'A: must be "env:NAME" or a string in quotes, got an integer'],
    [
      'A = "env:"',
      'A: invalid variable name after env:; write "env:NAME" with letters, digits and _',
    ],
    [String.raw`A = "\u0000"`, "A: must not contain a NUL character"],
  ])("cannot be %s", (line, what) => {
    expect(listProblems(`[mcp.x]\n${env(line)}`)).toEqual([`d.toml:3: mcp.x.env.${what}`]);
  });

  test("must be a table", () => {
    expect(listProblems('[mcp.x]\ncommand = "c"\nenv = ["A"]')).toEqual([
      'd.toml:3: mcp.x.env: must be a table of strings such as { NAME = "…" }, got a list',
    ]);
  });
});

describe("the headers of an MCP server", () => {
  const headers = (line: string) => `[mcp.x]\nurl = "https://h/mcp"\nheaders = { ${line} }`;

  test("have lower-case names and omit those that are not set", () => {
    const config = parseToml(headers('Authorization = "env:A", X-B = "env:B"'), { A: "Bearer a" });
    expect(config.mcp.get("x")?.transport).toMatchObject({
      headers: { authorization: "Bearer a" },
    });
    expect(config.warnings).toEqual([
      "d.toml:3: mcp.x.headers.X-B: the environment variable B is not set; the header is not sent",
    ]);
  });

  test.each([
    ['"a b" = "x"', '"a b": invalid header name; use letters, digits and -'],
    ['host = "x"', "host: is set by the gateway; remove it"],
    ['a = ""', 'a: must not be empty; remove it or write "env:NAME"'],
  ])("cannot be %s", (line, what) => {
    expect(listProblems(headers(line))).toEqual([`d.toml:3: mcp.x.headers.${what}`]);
  });
});

test("secrets of MCP servers are redacted from every message", () => {
  const config = parseToml(
    `[mcp.a]
command = "c"
env = { PLAIN = "env:OUTER", TICKETS_TOKEN = "written-1", GITHUB_PAT = "written-2", MODE = "production", DB = "postgres://u:p@host/db" }
[mcp.b]
url = "https://h/mcp?apiKey=in-query&region=europe"
headers = { Authorization = "Bearer written-3", x-plain = "env:OUTER_HEADER", x-team = "builders" }
`,
    { OUTER: "from-outside", OUTER_HEADER: "header-1" },
  );
  const secrets = createRedactor(config);
  for (const secret of [
    "from-outside",
    "written-1",
    "written-2",
    "postgres://u:p@host/db",
    "in-query",
    "Bearer written-3",
    "header-1",
  ])
    expect(secrets.redact(`got ${secret}.`)).toBe("got [redacted].");
  const harmless = "production europe builders";
  expect(secrets.redact(harmless)).toBe(harmless);
});
