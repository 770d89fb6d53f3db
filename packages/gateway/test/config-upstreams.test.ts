import { readFileSync } from "node:fs";
import { genericProfile, findProviderProfile, providerProfileNames } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { profileFlags } from "../src/config/profile-flags.ts";
import { listProblems, parseToml, getUpstream, zaiToml, formatProblem } from "./config-fixture.ts";

describe("an upstream", () => {
  test("requires a base_url and the wire it speaks", () => {
    expect(listProblems("[upstreams.a]")).toEqual([
      'd.toml:1: upstreams.a.base_url: missing; write base_url = "https://…", to which /chat/completions, /responses or /messages is appended',
      'd.toml:1: upstreams.a.speaks: missing; write speaks = "chat", "responses" or "messages"',
    ]);
  });

  test("replaces the demo, unless the demo is enabled", () => {
    expect(parseToml(zaiToml).server.demo).toBe(false);
    expect(parseToml(`server.demo = true\n${zaiToml}`).server.demo).toBe(true);
    expect(parseToml("server.demo = false").server.demo).toBe(false);
  });

  test("is in the order of the file", () => {
    const toml = `${zaiToml}${zaiToml.replace("zai", "b")}${zaiToml.replace("zai", "a")}`;
    expect([...parseToml(toml).upstreams.keys()]).toEqual(["zai", "b", "a"]);
  });

  test.each(["a/b", "a b", "", "ü"])("cannot be named %j", (name) => {
    expect(listProblems(zaiToml.replace("zai", JSON.stringify(name)))).toEqual([
      expect.stringMatching(
        /^d\.toml:1: upstreams\..+: invalid upstream name; use only letters, digits, -, _ and \.$/,
      ),
    ]);
  });

  test("cannot be named demo, unless the built-in one is disabled", () => {
    const demo = zaiToml.replace("zai", "demo");
    expect(listProblems(demo)).toEqual([
      "d.toml:2: upstreams.demo.base_url: demo is the built-in upstream; choose another name, or set demo = false under [server]",
    ]);
    expect([...parseToml(`server.demo = false\n${demo}`).upstreams.keys()]).toEqual(["demo"]);
  });

  test("with a list of models needs at least one", () => {
    expect(listProblems(`${zaiToml}models = []`)).toEqual([
      "d.toml:4: upstreams.zai.models: must not be empty; name a model, or remove the setting to fetch the list from the upstream",
    ]);
    expect(listProblems(`${zaiToml}models = ["a", ""]`)).toEqual([
      "d.toml:4: upstreams.zai.models[1]: must not be empty; remove it or write a string",
    ]);
  });
});

describe("a base_url", () => {
  const withUrl = (url: string) => zaiToml.replace("https://api.z.ai/v4", url);

  test.each([
    ["https://api.z.ai/v4/", "https://api.z.ai/v4"],
    ["https://API.deepseek.com", "https://api.deepseek.com"],
    ["http://localhost:8000/v1//", "http://localhost:8000/v1"],
    [" https://a.org/v1 ", "https://a.org/v1"],
    ["http://[::1]:80/v1", "http://[::1]/v1"],
  ])("%s is normalized to %s", (url, used) => {
    expect(getUpstream(parseToml(withUrl(url)), "zai").baseUrl).toBe(used);
  });

  test.each([
    ["api.z.ai/v4", "must be a URL such as https://HOST/PATH"],
    ["ftp://a.org", "must start with https://, or with http:// for a local server"],
    ["https://me:pass@a.org", "must not contain a user name or password; set api_key instead"],
    ["https://a.org/v1?key=1", 'must not contain a query; set query = { name = "…" } instead'],
    ["https://a.org/v1?", 'must not contain a query; set query = { name = "…" } instead'],
    ["https://a.org/v1#x", "must not contain a fragment (#…)"],
    [
      "https://a.org/v1/chat/completions",
      "must not end in /chat/completions, which the gateway adds",
    ],
    ["https://a.org/v1/responses/", "must not end in /responses, which the gateway adds"],
    ["https://a.org/v1/messages", "must not end in /messages, which the gateway adds"],
  ])("%s is an error: %s", (url, what) => {
    expect(listProblems(withUrl(url))).toEqual([`d.toml:2: upstreams.zai.base_url: ${what}`]);
  });

  test.each([
    "http://localhost:4141/v1",
    "http://127.0.0.1:4141",
    "http://127.9.9.9:4141/v1",
    "http://[::1]:4141/v1",
    "http://0.0.0.0:4141/v1",
    "http://[::]:4141/v1",
    "http://[::ffff:127.0.0.1]:4141/v1",
    "https://LOCALHOST.:4141/v1",
  ])("that points to this gateway is an error: %s", (url) => {
    expect(listProblems(withUrl(url))).toEqual([
      "d.toml:2: upstreams.zai.base_url: points to this gateway itself, on port 4141; use the address of the model provider, or remove the upstream",
    ]);
  });

  test("on this machine is valid on a port other than that of the gateway", () => {
    expect(parseToml(withUrl("http://localhost:4142/v1")).warnings).toEqual([]);
    expect(parseToml(withUrl("http://localhost:4141/v1"), {}, { port: 5000 }).warnings).toEqual([]);
    expect(parseToml(withUrl("http://localhost:4141/v1"), {}, { port: 0 }).warnings).toEqual([]);
    expect(listProblems(withUrl("http://localhost/v1"), {}, { port: 80 })).toHaveLength(1);
    expect(listProblems(withUrl("https://localhost/v1"), {}, { port: 443 })).toHaveLength(1);
  });

  test("with the host or an allowed host of the gateway points to this gateway too", () => {
    const server =
      '[server]\nhost = "192.168.1.5"\nallowed_hosts = ["gate.lan"]\ntokens = ["0123456789abcdef"]\n';
    expect(listProblems(server + withUrl("http://192.168.1.5:4141/v1"))).toHaveLength(1);
    expect(listProblems(server + withUrl("http://gate.lan:4141/v1"))).toHaveLength(1);
    expect(parseToml(server + withUrl("http://192.168.1.6:4141/v1")).warnings).toEqual([]);
  });
});

describe("a key", () => {
  test("that is not set is a warning with the variable", () => {
    const config = parseToml(`${zaiToml}api_key = "env:ZAI_API_KEY"`);
    expect(config.warnings).toEqual([
      "d.toml:4: upstreams.zai.api_key: the environment variable ZAI_API_KEY is not set; requests to zai fail until it is set",
    ]);
    expect(getUpstream(config, "zai")).toMatchObject({
      apiKey: undefined,
      apiKeyVariable: "ZAI_API_KEY",
    });
  });

  test("can be literal", () => {
    const config = parseToml(`${zaiToml}api_key = "sk-literal"`);
    expect(getUpstream(config, "zai")).toMatchObject({
      apiKey: "sk-literal",
      apiKeyVariable: undefined,
    });
    expect(config.warnings).toEqual([]);
  });

  test.each(["ZAI_API_KEY", "$ZAI_API_KEY", "${zai}", "HOME"])(
    "written as %s is a warning, because env: is probably missing",
    (text) => {
      expect(parseToml(`${zaiToml}api_key = "${text}"`, { HOME: "x" }).warnings).toEqual([
        'd.toml:4: upstreams.zai.api_key: looks like the name of an environment variable; to use its value, write "env:NAME" without $',
      ]);
    },
  );

  test("over http is a warning, except in private networks", () => {
    const at = (host: string) => `[upstreams.a]\nbase_url = "http://${host}/v1"\nspeaks = "chat"\n`;
    const open =
      "d.toml:2: upstreams.a.base_url: sends the key unencrypted over the network; use https://";
    expect(parseToml(`${at("api.example.org")}api_key = "k"`).warnings).toEqual([open]);
    expect(parseToml(`${at("api.example.org")}api_key = "env:K"`).warnings).toContain(open);
    expect(parseToml(at("api.example.org")).warnings).toEqual([]);
    expect(parseToml(`${at("192.168.0.9:8000")}api_key = "k"`).warnings).toEqual([]);
    expect(parseToml(`${at("localhost:8000")}api_key = "k"`).warnings).toEqual([]);
  });
});

describe("a header", () => {
  test.each([
    ['"a b" = "x"', 'headers."a b": invalid header name; use letters, digits and -'],
    ['Host = "x"', "headers.Host: is set by the gateway; remove it"],
    ['Content-Length = "1"', "headers.Content-Length: is set by the gateway; remove it"],
    [
      'a = "x\\ny"',
      "headers.a: contains a character that is not allowed in a header; copy it again, without line breaks",
    ],
    ["a = 1", 'headers.a: must be "env:NAME" or a string in quotes, got an integer'],
  ])("set as %s is an error", (line, what) => {
    expect(listProblems(`${zaiToml}headers = { ${line} }`)).toEqual([
      `d.toml:4: upstreams.zai.${what}`,
    ]);
  });

  test("cannot be the one that carries the key", () => {
    const line = 'headers = { Authorization = "Basic x" }\n';
    expect(getUpstream(parseToml(zaiToml + line), "zai").headers).toEqual({
      authorization: "Basic x",
    });
    expect(listProblems(`${zaiToml}${line}api_key = "k"`)).toEqual([
      "d.toml:4: upstreams.zai.headers.Authorization: already carries api_key; remove one of them",
    ]);
    expect(
      getUpstream(parseToml(`${zaiToml}${line}api_key = "k"\napi_key_header = "api-key"`), "zai")
        .headers,
    ).toEqual({
      authorization: "Basic x",
    });
  });

  test("whose variable is not set is omitted with a warning", () => {
    const config = parseToml(`${zaiToml}headers = { x-a = "env:A", x-b = "env:B" }`, { B: "b" });
    expect(getUpstream(config, "zai").headers).toEqual({ "x-b": "b" });
    expect(config.warnings).toEqual([
      "d.toml:4: upstreams.zai.headers.x-a: the environment variable A is not set; the header is not sent",
    ]);
  });

  test("for the key must be a valid header name", () => {
    expect(listProblems(`${zaiToml}api_key_header = "api key"`)).toEqual([
      "d.toml:4: upstreams.zai.api_key_header: invalid header for a key; use a name such as api-key",
    ]);
  });
});

describe("a profile", () => {
  test("is found by any of its names; the default is generic", () => {
    expect(getUpstream(parseToml(zaiToml), "zai").profile).toEqual(genericProfile);
    const written = (name: string) =>
      getUpstream(parseToml(`${zaiToml}profile = "${name}"`), "zai").profile;
    for (const name of providerProfileNames) {
      expect(written(name).name).toBe(name);
      expect(written(name.toUpperCase())).toEqual(findProviderProfile(name));
    }
    const others = { Moonshot: "kimi", "Z.AI": "glm", "azure openai": "azure", default: "generic" };
    for (const [name, meant] of Object.entries(others))
      expect(written(name)).toEqual(findProviderProfile(meant));
  });

  test("that does not exist is an error with a suggestion", () => {
    expect(listProblems(`${zaiToml}profile = "deepsek"`)).toEqual([
      "d.toml:4: upstreams.zai.profile: unknown profile (did you mean deepseek?)",
    ]);
    expect(listProblems(`${zaiToml}profile = "acme"`)).toEqual([
      expect.stringMatching(
        /^d\.toml:4: upstreams\.zai\.profile: unknown profile; known profiles: generic, openai, /,
      ),
    ]);
  });

  test("has the flags and values of docs/reference/profiles.md, with names in snake case", () => {
    const page = readFileSync(
      new URL("../../../docs/reference/profiles.md", import.meta.url),
      "utf8",
    );
    const rows = [...page.matchAll(/^\| `(\w+)` +\| ([^|]+) \|/gm)];
    const documented = new Map(
      rows.map(([, name, values = ""]) => [
        name,
        new Set([...values.matchAll(/`([^`]+)`/g)].map(([, word]) => word)),
      ]),
    );
    for (const [name, flag] of Object.entries(profileFlags)) {
      const plain = flag.type === "boolean" ? ["true", "false"] : [];
      const words = new Set<string>("values" in flag ? flag.values : plain);
      expect([name, documented.get(name)]).toEqual([name, words]);
    }
  });

  test("is overridden by flags; lists are extended", () => {
    const flags = `[upstreams.zai.flags]
      tool_choice = "any"
      efforts = "any"
      dropped_parameters = ["seed"]
      extra_body = { top_k = 20, stop = ["a"] }
    `;
    expect(getUpstream(parseToml(`${zaiToml}profile = "glm"\n${flags}`), "zai").profile).toEqual({
      ...findProviderProfile("glm"),
      toolChoice: "any",
      efforts: "any",
      droppedParameters: ["frequency_penalty", "presence_penalty", "seed"],
      extraBody: { top_k: 20, stop: ["a"] },
    });
  });

  test.each([
    ["toolChoice = 'any'", "unknown setting toolChoice (did you mean tool_choice?)"],
    ["starts_inside = true", "unknown setting starts_inside (did you mean starts_inside_think?)"],
    [
      "leaked_calls = ['hermse']",
      'leaked_calls[0]: must be one of "hermes", "qwen-xml", "kimi" (did you mean hermes?)',
    ],
    ["efforts = 'some'", 'efforts: must be "any", or a list of strings'],
    ["think_tags = 1", "think_tags: must be true or false, got an integer"],
    [
      "extra_body = { a = [nan] }",
      "extra_body.a[0]: must be a JSON value, not a date, inf or nan; write it as a string",
    ],
    [
      "extra_body = { a = { b = 1979-05-27 } }",
      "extra_body.a.b: must be a JSON value, not a date, inf or nan; write it as a string",
    ],
  ])("rejects the flag %s", (line, what) => {
    expect(listProblems(`${zaiToml}flags = { ${line} }`)).toEqual([
      formatProblem(4, "upstreams.zai.flags", what),
    ]);
  });
});

test("no message contains a literal secret, wherever it was written", () => {
  const secret = "sk-live-31415926535897932384";
  const places = [
    `api_key = ["${secret}"]`,
    `api_key = "env:${secret}"`,
    `api_key = "env:gsk_Ab1Ab1Ab1Ab1Ab1Ab1Ab1"\nmodels = "${secret}"`,
    `api_key = "${secret}\\u0001"`,
    `base_url = "https://x:${secret}@a.org"\nspeaks = 1`,
    `base_url = "${secret}"`,
    `base_url = "https://a.org/v1?key=${secret}"`,
    `profile = "${secret}"`,
    `speaks = "${secret}"`,
    `models = "${secret}"`,
    `headers = "${secret}"`,
    `headers = { a = "${secret}\\n" }`,
    `headers = { a = ["${secret}"] }`,
    `flags = { efforts = "${secret}" }`,
    `flags = "${secret}"`,
    `retries = "${secret}"`,
    `api_key = "${secret}`,
    `api_key = '${secret}' x`,
  ];
  for (const line of places) {
    const problems = listProblems(`[upstreams.a]\n${line}\n`).join("\n");
    expect(problems).not.toBe("");
    expect(problems).not.toContain(secret);
    expect(problems).not.toContain("gsk_");
  }
  for (const toml of [
    `server.tokens = "${secret}"`,
    `server.tokens = ["${secret} ${secret}"]`,
    `server.host = "${secret}!"`,
  ]) {
    expect(listProblems(toml).join("\n")).not.toContain(secret);
  }
});

test('speaks = "auto" starts with Chat and detects the API', () => {
  const speak = (speaks: string) => {
    const toml = `[upstreams.up]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "${speaks}"\n`;
    const { speaks: first, detectsApi } = getUpstream(parseToml(toml), "up");
    return [first, detectsApi];
  };
  expect(speak("auto")).toEqual(["chat", true]);
  expect(speak("responses")).toEqual(["responses", false]);
});
