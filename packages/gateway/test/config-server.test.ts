import { describe, expect, test } from "vitest";
import { isLoopback, isPrivate } from "../src/config/addresses.ts";
import { problemsIn, read } from "./reading-config.ts";

const token = "0123456789abcdef";

describe("the address to listen on", () => {
  test.each(["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"])(
    "%s needs no token",
    (host) => {
      expect(read(`[server]\nhost = "${host}"`).server.clients).toEqual([]);
    },
  );

  test.each(["0.0.0.0", "::", "192.168.1.5", "example.org", "127.1", "localhost.example.org"])(
    "%s needs a token",
    (host) => {
      expect(problemsIn(`[server]\nhost = "${host}"`)).toEqual([
        'd.toml:2: server.host: listens beyond this machine, where anybody could use your keys; set tokens = ["env:DELTAWIRE_TOKEN"] under [server] (without a file, setting DELTAWIRE_TOKEN is enough), or listen on 127.0.0.1',
      ]);
      expect(read(`[server]\nhost = "${host}"\ntokens = ["${token}"]`).server.host).toBe(host);
      expect(read(`[server]\nhost = "${host}"\n[clients.a]\ntoken = "${token}"`).server.host).toBe(
        host,
      );
    },
  );

  test.each(["http://0.0.0.0", "0.0.0.0:4141", "*", "a b", "[::1]:80", "/run/sock"])(
    "%s is none",
    (host) => {
      expect(problemsIn(`[server]\nhost = "${host}"`)).toEqual([
        "d.toml:2: server.host: is no address to listen on; write 127.0.0.1, 0.0.0.0 or a host name, without scheme or port",
      ]);
    },
  );

  test("is the command line's where it says one, for the check too", () => {
    expect(
      read('[server]\nhost = "0.0.0.0"\nport = 1', {}, { host: "::1", port: 2 }).server,
    ).toMatchObject({ host: "::1", port: 2 });
    expect(problemsIn("[server]\nport = 1", {}, { host: "0.0.0.0" })).toEqual([
      expect.stringMatching(/^--host: listens beyond this machine/),
    ]);
  });
});

describe("a token", () => {
  test("comes from a list or a client, and each list entry has a name for the log", () => {
    const toml = '[server]\ntokens = ["env:A", "second"]\n[clients.ed]\ntoken = "third"';
    expect(read(toml, { A: "first" }).server.clients).toEqual([
      { name: "token 1", token: "first", toolCalls: "deltas", reasoning: "summary" },
      { name: "token 2", token: "second", toolCalls: "deltas", reasoning: "summary" },
      { name: "ed", token: "third", toolCalls: "deltas", reasoning: "summary" },
    ]);
  });

  test.each([{}, { A: "" }, { A: " \n" }, { A: undefined }])(
    "whose variable is not set is an error and no warning: %j",
    (env) => {
      expect(problemsIn('[server]\nhost = "0.0.0.0"\ntokens = ["env:A"]', env)).toEqual([
        "d.toml:3: server.tokens[0]: the environment variable A is not set; set it, or take the token out",
      ]);
      expect(problemsIn('[clients.ed]\ntoken = "env:A"', env)).toEqual([
        "d.toml:2: clients.ed.token: the environment variable A is not set; set it, or take the token out",
      ]);
    },
  );

  test("of a client is required", () => {
    expect(problemsIn("[clients.ed]\nreasoning = 'text'")).toEqual([
      'd.toml:1: clients.ed.token: is missing; write token = "env:NAME"',
    ]);
  });

  test("may be short on loopback, but has 16 characters beyond it", () => {
    const tokens = `tokens = [\n  "${token}",\n  "${token.slice(1)}",\n]`;
    expect(read(`[server]\n${tokens}`).server.clients).toHaveLength(2);
    expect(problemsIn(`[server]\nhost = "::"\n${tokens}`)).toEqual([
      expect.stringMatching(
        /^d\.toml:5: server\.tokens\[1\]: has fewer than 16 characters.*; take a longer one/,
      ),
    ]);
  });

  test("belongs to one client only", () => {
    expect(
      problemsIn('[server]\ntokens = ["a", "b", "a"]\n[clients.ed]\ntoken = "env:B"', { B: "b" }),
    ).toEqual([
      "d.toml:2: server.tokens[2]: is the token of token 1 too; give every client its own",
      "d.toml:4: clients.ed.token: is the token of token 2 too; give every client its own",
    ]);
  });

  test.each([
    ['""', 'is empty; leave it out, or write "env:NAME"'],
    ['"env:"', 'has no name of a variable after env:; write "env:NAME" with letters, digits and _'],
    [
      '"env:a-b"',
      'has no name of a variable after env:; write "env:NAME" with letters, digits and _',
    ],
    ['"a b"', "has a space in it; a bearer token has none, so choose another one"],
    ['"a\\u0000b"', "has a character that no header can carry; copy it again, without line ends"],
  ])("is not %s", (text, what) => {
    expect(problemsIn(`[server]\ntokens = [${text}]`)).toEqual([
      `d.toml:2: server.tokens[0]: ${what}`,
    ]);
  });
});

describe("names that may call", () => {
  test("are host names without scheme or port", () => {
    const hosts = ["https://a.org", "a.org:80", "*", "*.a.org", "a/b"];
    expect(problemsIn(`[server]\nallowed_hosts = ${JSON.stringify(hosts)}`)).toEqual(
      hosts.map(
        (_, index) =>
          `d.toml:2: server.allowed_hosts[${index}]: is no host name; write the name alone, without scheme, port or *`,
      ),
    );
    expect(
      read('[server]\nallowed_hosts = ["My-Box.lan", "[fd00::1]"]').server.allowedHosts,
    ).toEqual(["my-box.lan", "[fd00::1]"]);
  });

  test("are origins without a path, of whatever scheme", () => {
    const origins = [
      "*",
      "a.org",
      "https://a.org/",
      "https://a.org/x",
      "https://u@a.org",
      "null",
      "https://*.a.org",
      "https://a.org:443", // a browser leaves it out
    ];
    expect(problemsIn(`[server]\ncors_origins = ${JSON.stringify(origins)}`)).toEqual(
      origins.map(
        (_, index) =>
          `d.toml:2: server.cors_origins[${index}]: is no origin; write https://HOST or https://HOST:PORT, without a path or *`,
      ),
    );
    const good = ["https://A.org", "http://localhost:3000", "chrome-extension://abcdef"];
    expect(read(`[server]\ncors_origins = ${JSON.stringify(good)}`).server.corsOrigins).toEqual(
      good.map((origin) => origin.toLowerCase()),
    );
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
    expect(isPrivate(host)).toBe(true);
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
  ])("%s is private, but no loopback", (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(isPrivate(host)).toBe(true);
  });

  test.each([
    "8.8.8.8",
    "172.32.0.1",
    "2001:db8::1",
    "api.z.ai",
    "localhost.example.org",
    "127.0.0.1.example.org",
  ])("%s is neither", (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(isPrivate(host)).toBe(false);
  });
});
