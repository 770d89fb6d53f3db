import { readFileSync } from "node:fs";
import { genericProfile, profileNamed, profileNames } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { profileFlags } from "../src/config/profile-flags.ts";
import { problemsIn, read, upstreamOf, zai } from "./reading-config.ts";

describe("an upstream", () => {
  test("says where it is and what it speaks, for neither is guessed", () => {
    expect(problemsIn("[upstreams.a]")).toEqual([
      'd.toml:1: upstreams.a.base_url: is missing; write base_url = "https://…", the address to which /chat/completions or /responses is added',
      'd.toml:1: upstreams.a.speaks: is missing; write speaks = "chat" or speaks = "responses"; it is never guessed',
    ]);
  });

  test("that is alone is served without the demo, unless the demo is asked for", () => {
    expect(read(zai).server.demo).toBe(false);
    expect(read(`server.demo = true\n${zai}`).server.demo).toBe(true);
    expect(read("server.demo = false").server.demo).toBe(false);
  });

  test("keeps its place in the file", () => {
    const toml = `${zai}${zai.replace("zai", "b")}${zai.replace("zai", "a")}`;
    expect([...read(toml).upstreams.keys()]).toEqual(["zai", "b", "a"]);
  });

  test.each(["a/b", "a b", "", "ü"])("cannot be called %j", (name) => {
    expect(problemsIn(zai.replace("zai", JSON.stringify(name)))).toEqual([
      expect.stringMatching(
        /^d\.toml:1: upstreams\..+: is no name for an upstream; use letters, digits, - _ and \. only$/,
      ),
    ]);
  });

  test("cannot be called demo, unless the built-in one is off", () => {
    const demo = zai.replace("zai", "demo");
    expect(problemsIn(demo)).toEqual([
      "d.toml:2: upstreams.demo.base_url: has the name of the built-in demo; take another one, or set demo = false under [server]",
    ]);
    expect([...read(`server.demo = false\n${demo}`).upstreams.keys()]).toEqual(["demo"]);
  });

  test("that has models has at least one", () => {
    expect(problemsIn(`${zai}models = []`)).toEqual([
      "d.toml:4: upstreams.zai.models: is empty; name a model, or leave it out and the upstream is asked",
    ]);
    expect(problemsIn(`${zai}models = ["a", ""]`)).toEqual([
      "d.toml:4: upstreams.zai.models[1]: is empty; leave it out, or write a text",
    ]);
  });
});

describe("a base_url", () => {
  const withUrl = (url: string) => zai.replace("https://api.z.ai/v4", url);

  test.each([
    ["https://api.z.ai/v4/", "https://api.z.ai/v4"],
    ["https://API.deepseek.com", "https://api.deepseek.com"],
    ["http://localhost:8000/v1//", "http://localhost:8000/v1"],
    [" https://a.org/v1 ", "https://a.org/v1"],
    ["http://[::1]:80/v1", "http://[::1]/v1"],
  ])("%s is %s", (url, used) => {
    expect(upstreamOf(read(withUrl(url)), "zai").baseUrl).toBe(used);
  });

  test.each([
    ["api.z.ai/v4", "is no address; write https://HOST/PATH"],
    ["ftp://a.org", "is no web address; write https://HOST/PATH, or http:// for a local server"],
    ["https://me:pass@a.org", "has a user or password in it; take it out and set api_key"],
    ["https://a.org/v1?key=1", 'has a query in it; take it out and set query = { name = "…" }'],
    ["https://a.org/v1?", 'has a query in it; take it out and set query = { name = "…" }'],
    ["https://a.org/v1#x", "has a # in it; take it and what follows out"],
    ["https://a.org/v1/chat/completions", "ends in /chat/completions; take that out, it is added"],
    ["https://a.org/v1/responses/", "ends in /responses; take that out, it is added"],
  ])("%s %s", (url, what) => {
    expect(problemsIn(withUrl(url))).toEqual([`d.toml:2: upstreams.zai.base_url: ${what}`]);
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
  ])("%s leads back to this gateway", (url) => {
    expect(problemsIn(withUrl(url))).toEqual([
      "d.toml:2: upstreams.zai.base_url: leads to this gateway itself, on port 4141; name the server behind it, or take it out",
    ]);
  });

  test("on this machine is good on another port, and the port is the one in use", () => {
    expect(read(withUrl("http://localhost:4142/v1")).warnings).toEqual([]);
    expect(read(withUrl("http://localhost:4141/v1"), {}, { port: 5000 }).warnings).toEqual([]);
    expect(read(withUrl("http://localhost:4141/v1"), {}, { port: 0 }).warnings).toEqual([]);
    expect(problemsIn(withUrl("http://localhost/v1"), {}, { port: 80 })).toHaveLength(1);
    expect(problemsIn(withUrl("https://localhost/v1"), {}, { port: 443 })).toHaveLength(1);
  });

  test("that names the gateway by an address or a name of its own leads back too", () => {
    const server =
      '[server]\nhost = "192.168.1.5"\nallowed_hosts = ["gate.lan"]\ntokens = ["0123456789abcdef"]\n';
    expect(problemsIn(server + withUrl("http://192.168.1.5:4141/v1"))).toHaveLength(1);
    expect(problemsIn(server + withUrl("http://gate.lan:4141/v1"))).toHaveLength(1);
    expect(read(server + withUrl("http://192.168.1.6:4141/v1")).warnings).toEqual([]);
  });
});

describe("a key", () => {
  test("that is not set is a warning that names the variable, which is kept", () => {
    const config = read(`${zai}api_key = "env:ZAI_API_KEY"`);
    expect(config.warnings).toEqual([
      "d.toml:4: upstreams.zai.api_key: the environment variable ZAI_API_KEY is not set; requests to zai are refused until it is",
    ]);
    expect(upstreamOf(config, "zai")).toMatchObject({
      apiKey: undefined,
      apiKeyVariable: "ZAI_API_KEY",
    });
  });

  test("that is written down is taken as it is", () => {
    const config = read(`${zai}api_key = "sk-literal"`);
    expect(upstreamOf(config, "zai")).toMatchObject({
      apiKey: "sk-literal",
      apiKeyVariable: undefined,
    });
    expect(config.warnings).toEqual([]);
  });

  test.each(["ZAI_API_KEY", "$ZAI_API_KEY", "${zai}", "HOME"])(
    "written as %s is taken for a forgotten env:",
    (text) => {
      expect(read(`${zai}api_key = "${text}"`, { HOME: "x" }).warnings).toEqual([
        'd.toml:4: upstreams.zai.api_key: looks like the name of a variable; write "env:" before it, without $',
      ]);
    },
  );

  test("over http is a warning, unless the server is in the house", () => {
    const at = (host: string) => `[upstreams.a]\nbase_url = "http://${host}/v1"\nspeaks = "chat"\n`;
    const open =
      "d.toml:2: upstreams.a.base_url: sends the key over the network unencrypted; write https://";
    expect(read(`${at("api.example.org")}api_key = "k"`).warnings).toEqual([open]);
    expect(read(`${at("api.example.org")}api_key = "env:K"`).warnings).toContain(open);
    expect(read(at("api.example.org")).warnings).toEqual([]);
    expect(read(`${at("192.168.0.9:8000")}api_key = "k"`).warnings).toEqual([]);
    expect(read(`${at("localhost:8000")}api_key = "k"`).warnings).toEqual([]);
  });
});

describe("a header", () => {
  test.each([
    ['"a b" = "x"', 'headers."a b": is no name of a header; use letters, digits and -'],
    ['Host = "x"', "headers.Host: is set by the gateway itself; take it out"],
    ['Content-Length = "1"', "headers.Content-Length: is set by the gateway itself; take it out"],
    [
      'a = "x\\ny"',
      "headers.a: has a character that no header can carry; copy it again, without line ends",
    ],
    ["a = 1", 'headers.a: is a whole number; write "env:NAME", or a text in quotes'],
  ])("%s is refused", (line, what) => {
    expect(problemsIn(`${zai}headers = { ${line} }`)).toEqual([`d.toml:4: upstreams.zai.${what}`]);
  });

  test("does not stand beside a key in the same one", () => {
    const line = 'headers = { Authorization = "Basic x" }\n';
    expect(upstreamOf(read(zai + line), "zai").headers).toEqual({ authorization: "Basic x" });
    expect(problemsIn(`${zai}${line}api_key = "k"`)).toEqual([
      "d.toml:4: upstreams.zai.headers.Authorization: is the header of the key; keep one of the two",
    ]);
    expect(
      upstreamOf(read(`${zai}${line}api_key = "k"\napi_key_header = "api-key"`), "zai").headers,
    ).toEqual({
      authorization: "Basic x",
    });
  });

  test("whose variable is not set is not sent, with a warning", () => {
    const config = read(`${zai}headers = { x-a = "env:A", x-b = "env:B" }`, { B: "b" });
    expect(upstreamOf(config, "zai").headers).toEqual({ "x-b": "b" });
    expect(config.warnings).toEqual([
      "d.toml:4: upstreams.zai.headers.x-a: the environment variable A is not set; the header is not sent",
    ]);
  });

  test("for the key has the name of a header", () => {
    expect(problemsIn(`${zai}api_key_header = "api key"`)).toEqual([
      "d.toml:4: upstreams.zai.api_key_header: is no header for a key; write api-key, for example",
    ]);
  });
});

describe("a profile", () => {
  test("is found by any of its names; without one it is generic", () => {
    expect(upstreamOf(read(zai), "zai").profile).toEqual(genericProfile);
    const written = (name: string) => upstreamOf(read(`${zai}profile = "${name}"`), "zai").profile;
    for (const name of profileNames) {
      expect(written(name).name).toBe(name);
      expect(written(name.toUpperCase())).toEqual(profileNamed(name));
    }
    const others = { Moonshot: "kimi", "Z.AI": "glm", "azure openai": "azure", default: "generic" };
    for (const [name, meant] of Object.entries(others))
      expect(written(name)).toEqual(profileNamed(meant));
  });

  test("that nobody wrote down is refused with the nearest", () => {
    expect(problemsIn(`${zai}profile = "deepsek"`)).toEqual([
      "d.toml:4: upstreams.zai.profile: is no known profile; did you mean deepseek?",
    ]);
    expect(problemsIn(`${zai}profile = "acme"`)).toEqual([
      expect.stringMatching(
        /^d\.toml:4: upstreams\.zai\.profile: is no known profile; known are generic, openai, /,
      ),
    ]);
  });

  test("has flags, each under its name in snake case and in the words of docs/profiles.md", () => {
    const page = readFileSync(new URL("../../../docs/profiles.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| `(\w+)` +\| ([^|]+) \| /gm)];
    const documented = new Map(
      rows.map(([, name, values = ""]) => [
        name,
        new Set([...values.matchAll(/`([^`]+)`/g)].map(([, word]) => word)),
      ]),
    );
    for (const [name, flag] of Object.entries(profileFlags)) {
      const plain = flag.type === "boolean" ? ["true", "false"] : [];
      const words = new Set<string>("words" in flag ? flag.words : plain);
      expect([name, documented.get(name)]).toEqual([name, words]);
    }
  });

  test("takes a flag over, and adds to lists", () => {
    const flags = `[upstreams.zai.flags]
      tool_choice = "any"
      efforts = "any"
      dropped_parameters = ["seed"]
      extra_body = { top_k = 20, stop = ["a"] }
    `;
    expect(upstreamOf(read(`${zai}profile = "glm"\n${flags}`), "zai").profile).toEqual({
      ...profileNamed("glm"),
      toolChoice: "any",
      efforts: "any",
      droppedParameters: ["frequency_penalty", "presence_penalty", "seed"],
      extraBody: { top_k: 20, stop: ["a"] },
    });
  });

  test.each([
    ["toolChoice = 'any'", "toolChoice: is no setting; did you mean tool_choice?"],
    ["starts_inside = true", "starts_inside: is no setting; did you mean starts_inside_think?"],
    [
      "leaked_calls = ['hermse']",
      'leaked_calls[0]: is none of its words; write one of "hermes", "qwen-xml", "kimi"; did you mean hermes?',
    ],
    ["efforts = 'some'", 'efforts: is none of its words; write one of "any", or a list of texts'],
    ["think_tags = 1", "think_tags: is a whole number; write true or false"],
    ["extra_body = { a = [nan] }", "extra_body.a[0]: JSON has no such value; write a text"],
    [
      "extra_body = { a = { b = 1979-05-27 } }",
      "extra_body.a.b: JSON has no such value; write a text",
    ],
  ])("does not take the flag %s", (line, what) => {
    expect(problemsIn(`${zai}flags = { ${line} }`)).toEqual([
      `d.toml:4: upstreams.zai.flags.${what}`,
    ]);
  });
});

test("a literal secret is in no message, wherever it was written by mistake", () => {
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
    const found = problemsIn(`[upstreams.a]\n${line}\n`).join("\n");
    expect(found).not.toBe("");
    expect(found).not.toContain(secret);
    expect(found).not.toContain("gsk_");
  }
  for (const toml of [
    `server.tokens = "${secret}"`,
    `server.tokens = ["${secret} ${secret}"]`,
    `server.host = "${secret}!"`,
  ]) {
    expect(problemsIn(toml).join("\n")).not.toContain(secret);
  }
});
