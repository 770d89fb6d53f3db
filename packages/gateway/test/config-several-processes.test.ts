import { describe, expect, test } from "vitest";
import { createRedactor } from "../src/security/create-redactor.ts";
import { formatProblem, listProblems, parseToml } from "./config-fixture.ts";

/* The settings that several gateways on one database need. */

const database = '[store]\nurl = "postgres://me:geheim@db.example/chats"\n';

describe("the bus", () => {
  test("is a Redis server whose URL is in the environment", () => {
    const url = "rediss://me:geheim@redis.example:6380/2";
    const toml = `${database}[bus]\nurl = "env:REDIS_URL"\nprefix = "team:chats"\n`;
    const config = parseToml(toml, { REDIS_URL: url });
    expect(config.bus).toEqual({ url, prefix: "team:chats" });
    expect(config.warnings).toEqual([]);
  });

  test.each([
    ["no store", ""],
    ["a SQLite file", "[store]\npath = 'd.db'\n"],
    ["a store that is off", "[store]\nenabled = false\nurl = 'postgres://db.example/chats'\n"],
  ])("with %s is an error that says what to do", (_, store) => {
    const toml = `${store}[bus]\nurl = "redis://redis.example"\n`;
    const problem =
      "url: needs a PostgreSQL store, which several gateways share; set store.url, or remove it: with SQLite, one gateway has all events";
    expect(listProblems(toml)).toEqual([
      formatProblem(toml.split("\n").length - 1, "bus", problem),
    ]);
  });

  test("is not reported beside an invalid database", () => {
    const toml = `[store]\nurl = "env:NO_SUCH_VARIABLE"\n[bus]\nurl = "redis://redis.example"\n`;
    expect(listProblems(toml)).toEqual([
      formatProblem(2, "store", "url: the environment variable NO_SUCH_VARIABLE is not set"),
    ]);
  });

  const invalidUrl =
    'url: must be the URL of a Redis server, such as "redis://user:password@host:6379", or rediss:// for TLS, with %2F for /, %40 for @ and %23 for # in the password';
  test.each([
    ['url = "env:NO_SUCH_VARIABLE"', "url: the environment variable NO_SUCH_VARIABLE is not set"],
    ['url = "http://me:geheim@redis.example"', invalidUrl],
    ['url = "redis://"', invalidUrl],
    ['url = "redis://me:ge/heim@redis.example"', invalidUrl],
    ['url = "redis://me:50%@redis.example"', invalidUrl],
    ['prefix = "a b"', "prefix: must consist of letters, digits and the characters _ . : -"],
    ["ur = 1", "unknown setting ur (did you mean url?)"],
  ])("rejects %s", (line, problem) => {
    expect(listProblems(`${database}[bus]\n${line}`)).toEqual([formatProblem(4, "bus", problem)]);
  });
});

describe("a bucket for large files", () => {
  const settings = {
    s3_url: '"https://s3.example/files/team"',
    s3_access_key_id: '"env:S3_ID"',
    s3_secret_access_key: '"env:S3_SECRET"',
  };
  const env = { S3_ID: "id-of-the-key", S3_SECRET: "secret-of-the-key" };
  const bucket = (changes: Record<string, string | undefined> = {}) =>
    Object.entries({ ...settings, ...changes })
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`]))
      .join("\n");

  test("has a region and a minimum size of files, with defaults", () => {
    expect(parseToml(database + bucket(), env).store.s3).toEqual({
      url: "https://s3.example/files/team",
      region: "us-east-1",
      accessKeyId: "id-of-the-key",
      secretAccessKey: "secret-of-the-key",
      minBytes: 256 * 1024,
    });
    const toml = database + bucket({ s3_region: '"eu-west-3"', s3_min_kb: "1.5" });
    expect(parseToml(toml, env).store.s3).toMatchObject({ region: "eu-west-3", minBytes: 1536 });
  });

  test.each<[Record<string, string | undefined>, string]>([
    [
      { s3_url: '"ftp://s3.example/files"' },
      's3_url: must have the form "https://host/bucket" or "https://bucket.host", without a user and password',
    ],
    [
      { s3_url: '"https://me:geheim@s3.example/files"' },
      's3_url: must have the form "https://host/bucket" or "https://bucket.host", without a user and password',
    ],
    [{ s3_access_key_id: undefined }, 's3_url: needs store.s3_access_key_id, such as "env:NAME"'],
    [
      { s3_secret_access_key: '"env:NO_SUCH_VARIABLE"' },
      "s3_secret_access_key: the environment variable NO_SUCH_VARIABLE is not set",
    ],
    [{ s3_min_kb: "0.5" }, "s3_min_kb: must be at least 1, got 0.5"],
  ])("rejects %j", (changes, problem) => {
    const problems = listProblems(database + bucket(changes), env);
    expect(problems.map((text) => text.replace(/^d\.toml:\d+: store\./, ""))).toEqual([problem]);
  });

  test("needs a PostgreSQL database", () => {
    expect(listProblems(`[store]\n${bucket()}`, env)).toEqual([
      formatProblem(2, "store", "s3_url: needs a PostgreSQL store; set store.url, or remove it"),
    ]);
  });
});

describe("the number of connections", () => {
  test("is 10 unless another one is set", () => {
    expect(parseToml(database).store.maxConnections).toBe(10);
    expect(parseToml(`${database}max_connections = 3`).store.maxConnections).toBe(3);
    expect(listProblems(`${database}max_connections = 0`)).toEqual([
      formatProblem(3, "store", "max_connections: must be from 1 to 1000, got 0"),
    ]);
  });
});

describe("the sealing key", () => {
  const key = "0123456789abcdef0123456789abcdef";

  test("is a long string, preferably from the environment", () => {
    const toml = '[server]\nsealing_key = "env:SEALING_KEY"\n';
    expect(parseToml(toml, { SEALING_KEY: key }).server.sealingKey).toBe(key);
    expect(listProblems(toml)).toEqual([
      formatProblem(
        2,
        "server",
        "sealing_key: the environment variable SEALING_KEY is not set; set it, or remove the setting",
      ),
    ]);
    expect(listProblems(toml, { SEALING_KEY: "too short" })).toEqual([
      formatProblem(
        2,
        "server",
        "sealing_key: must have at least 32 characters; create one with: openssl rand -hex 32",
      ),
    ]);
  });

  test("is redacted like all other secrets that processes share", () => {
    const toml = `[server]\nsealing_key = "env:KEY"\n${database}s3_url = "https://s3.example/files"\ns3_access_key_id = "id"\ns3_secret_access_key = "env:S3"\n[bus]\nurl = "redis://me:verborgen@redis.example"\n`;
    const redactor = createRedactor(parseToml(toml, { KEY: key, S3: "secret-of-the-bucket" }));
    for (const secret of [key, "geheim", "verborgen", "secret-of-the-bucket"])
      expect(redactor.redact(`before ${secret} after`)).toBe("before [redacted] after");
  });
});
