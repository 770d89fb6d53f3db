import { describe, expect, test } from "vitest";
import { isLoopback, isPrivateHost } from "../src/config/host-addresses.ts";
import { listProblems, parseToml } from "./config-fixture.ts";

const token = "0123456789abcdef";

describe("the address to listen on", () => {
  test.each(["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"])(
    "%s requires no token",
    (host) => {
      expect(parseToml(`[server]\nhost = "${host}"`).server.clients).toEqual([]);
    },
  );

  test.each(["0.0.0.0", "::", "192.168.1.5", "example.org", "127.1", "localhost.example.org"])(
    "%s requires a token",
    (host) => {
      expect(listProblems(`[server]\nhost = "${host}"`)).toEqual([
        'd.toml:2: server.host: other machines could use your API keys without a token; set tokens = ["env:DELTAWIRE_TOKEN"] under [server] (without a file, set DELTAWIRE_TOKEN), or listen on 127.0.0.1',
      ]);
      expect(parseToml(`[server]\nhost = "${host}"\ntokens = ["${token}"]`).server.host).toBe(host);
      expect(
        parseToml(`[server]\nhost = "${host}"\n[clients.a]\ntoken = "${token}"`).server.host,
      ).toBe(host);
    },
  );

  test.each(["http://0.0.0.0", "0.0.0.0:4141", "*", "a b", "[::1]:80", "/run/sock"])(
    "cannot be %s",
    (host) => {
      expect(listProblems(`[server]\nhost = "${host}"`)).toEqual([
        "d.toml:2: server.host: must be 127.0.0.1, 0.0.0.0 or a host name, without scheme or port",
      ]);
    },
  );

  test("is that of the command line if given, including for the check of tokens", () => {
    expect(
      parseToml('[server]\nhost = "0.0.0.0"\nport = 1', {}, { host: "::1", port: 2 }).server,
    ).toMatchObject({ host: "::1", port: 2 });
    expect(listProblems("[server]\nport = 1", {}, { host: "0.0.0.0" })).toEqual([
      expect.stringMatching(/^--host: other machines could use your API keys/),
    ]);
  });
});

describe("a token", () => {
  test("comes from the list or a client; each list entry gets a name", () => {
    const toml = '[server]\ntokens = ["env:A", "second"]\n[clients.ed]\ntoken = "third"';
    expect(parseToml(toml, { A: "first" }).server.clients).toEqual([
      { name: "token 1", token: "first", toolCalls: "deltas", reasoning: "summary" },
      { name: "token 2", token: "second", toolCalls: "deltas", reasoning: "summary" },
      { name: "ed", token: "third", toolCalls: "deltas", reasoning: "summary" },
    ]);
  });

  test.each([{}, { A: "" }, { A: " \n" }, { A: undefined }])(
    "whose variable is not set is an error, not a warning: %j",
    (env) => {
      expect(listProblems('[server]\nhost = "0.0.0.0"\ntokens = ["env:A"]', env)).toEqual([
        "d.toml:3: server.tokens[0]: the environment variable A is not set; set it, or remove the token",
      ]);
      expect(listProblems('[clients.ed]\ntoken = "env:A"', env)).toEqual([
        "d.toml:2: clients.ed.token: the environment variable A is not set; set it, or remove the token",
      ]);
    },
  );

  test("of a client is required", () => {
    expect(listProblems("[clients.ed]\nreasoning = 'text'")).toEqual([
      'd.toml:1: clients.ed.token: missing; write token = "env:NAME"',
    ]);
  });

  test("may be short on loopback, but needs 16 characters elsewhere", () => {
    const tokens = `tokens = [\n  "${token}",\n  "${token.slice(1)}",\n]`;
    expect(parseToml(`[server]\n${tokens}`).server.clients).toHaveLength(2);
    expect(listProblems(`[server]\nhost = "::"\n${tokens}`)).toEqual([
      expect.stringMatching(
        /^d\.toml:5: server\.tokens\[1\]: must have at least 16 characters.*; create one/,
      ),
    ]);
  });

  test("must be unique", () => {
    expect(
      listProblems('[server]\ntokens = ["a", "b", "a"]\n[clients.ed]\ntoken = "env:B"', { B: "b" }),
    ).toEqual([
      "d.toml:2: server.tokens[2]: is also the token of token 1; give every client its own token",
      "d.toml:4: clients.ed.token: is also the token of token 2; give every client its own token",
    ]);
  });

  test.each([
    ['""', 'must not be empty; remove it or write "env:NAME"'],
    ['"env:"', 'invalid variable name after env:; write "env:NAME" with letters, digits and _'],
    ['"env:a-b"', 'invalid variable name after env:; write "env:NAME" with letters, digits and _'],
    ['"a b"', "must not contain whitespace; choose another token"],
    [
      '"a\\u0000b"',
      "contains a character that is not allowed in a header; copy it again, without line breaks",
    ],
  ])("cannot be %s", (text, what) => {
    expect(listProblems(`[server]\ntokens = [${text}]`)).toEqual([
      `d.toml:2: server.tokens[0]: ${what}`,
    ]);
  });
});

describe("allowed hosts and origins", () => {
  test("are host names without scheme or port", () => {
    const hosts = ["https://a.org", "a.org:80", "*", "*.a.org", "a/b"];
    expect(listProblems(`[server]\nallowed_hosts = ${JSON.stringify(hosts)}`)).toEqual(
      hosts.map(
        (_, index) =>
          `d.toml:2: server.allowed_hosts[${index}]: must be a host name, without scheme, port or *`,
      ),
    );
    expect(
      parseToml('[server]\nallowed_hosts = ["My-Box.lan", "[fd00::1]"]').server.allowedHosts,
    ).toEqual(["my-box.lan", "[fd00::1]"]);
  });

  test("are origins without a path, with any scheme", () => {
    const origins = [
      "*",
      "a.org",
      "https://a.org/",
      "https://a.org/x",
      "https://u@a.org",
      "null",
      "https://*.a.org",
      "https://a.org:443", // browsers omit the default port
    ];
    expect(listProblems(`[server]\ncors_origins = ${JSON.stringify(origins)}`)).toEqual(
      origins.map(
        (_, index) =>
          `d.toml:2: server.cors_origins[${index}]: must be an origin such as https://HOST or https://HOST:PORT, without a path or *`,
      ),
    );
    const good = ["https://A.org", "http://localhost:3000", "chrome-extension://abcdef"];
    expect(
      parseToml(`[server]\ncors_origins = ${JSON.stringify(good)}`).server.corsOrigins,
    ).toEqual(good.map((origin) => origin.toLowerCase()));
  });
});

describe("an address", () => {
  test.each([
    "127.0.0.1",
    "127.255.0.3",
    "::1",
    "[::1]",
    "::ffff:127.0.0.1",
    "localhost",
    "localhost.",
    "a.localhost",
  ])("%s is loopback", (host) => {
    expect(isLoopback(host)).toBe(true);
    expect(isPrivateHost(host)).toBe(true);
  });

  test.each([
    "10.1.2.3",
    "172.16.0.1",
    "192.168.9.9",
    "169.254.1.1",
    "100.64.0.1",
    "fd00::1",
    "fe80::1",
    "gpu-box",
    "nas.local",
    "a.internal",
  ])("%s is private, but not loopback", (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(isPrivateHost(host)).toBe(true);
  });

  test.each([
    "8.8.8.8",
    "172.32.0.1",
    "2001:db8::1",
    "api.z.ai",
    "localhost.example.org",
    "127.0.0.1.example.org",
  ])("%s is neither loopback nor private", (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(isPrivateHost(host)).toBe(false);
  });
});
