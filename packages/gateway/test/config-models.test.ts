import { describe, expect, test } from "vitest";
import { problemsIn, read, zai } from "./reading-config.ts";

const local =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["qwen3-coder"]\n';

/** Line 1 of the file is `[models]`, line 2 the entry. */
function entry(line: string): string {
  return `[models]\n${line}\n\n${zai}${local}`;
}

describe("a name that clients use", () => {
  test.each([
    ['a = "zai/glm-4.6"', ["zai/glm-4.6"]],
    ['a = ["zai/glm-4.6", "local/qwen3-coder"]', ["zai/glm-4.6", "local/qwen3-coder"]],
    ['a = { use = "local/qwen3-coder" }', ["local/qwen3-coder"]],
    ['[models.a]\nuse = ["local/qwen3-coder", "zai/x"]', ["local/qwen3-coder", "zai/x"]],
    ['a = "zai/vendor/model:free"', ["zai/vendor/model:free"]],
    ['"openai/gpt" = "zai/x"', ["zai/x"]],
    ['"zai" = "zai/x"', ["zai/x"]],
  ])("%s leads to %j", (line, expected) => {
    const { models, warnings } = read(entry(line).replace("[models]\n[models.a]", "[models.a]"));
    const [alias] = models.values();
    expect(alias?.targets.map(({ upstream, model }) => `${upstream}/${model}`)).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  test.each([
    ['a = "zia/x"', 'models.a: there is no upstream "zia"; did you mean zai?'],
    [
      'a = ["zai/x", "locale/y"]',
      'models.a[1]: there is no upstream "locale"; did you mean local?',
    ],
    [
      'a = { use = ["acme/x"] }',
      'models.a.use[0]: there is no upstream "acme"; known are zai, local',
    ],
    ['a = "/x"', 'models.a: there is no upstream ""; known are zai, local'],
    ['a = "demo/clean"', 'models.a: there is no upstream "demo"; known are zai, local'],
    ['a = "glm"', 'models.a: has no upstream before a slash; write "upstream/model"'],
    ['a = "zai/"', 'models.a: has no upstream before a slash; write "upstream/model"'],
    [
      'a = "qwen3-coder"',
      "models.a: has no upstream before a slash; did you mean local/qwen3-coder?",
    ],
    ["a = []", 'models.a: is empty; write "upstream/model"'],
    ['a = ["zai/x", "zai/x"]', "models.a: has zai/x twice; take one out"],
    ['a = ""', "models.a: is empty; leave it out, or write a text"],
    ['a = { user = "zai/x", use = "zai/y" }', "models.a.user: is no setting; did you mean use?"],
    [
      "a = { context_window = 1 }",
      'models.a.use: is missing; write use = "upstream/model", or a list that is tried in order',
    ],
    [
      '"zai/glm" = "zai/x"',
      'models."zai/glm": has the form of a model of the upstream zai, which works without an entry; take another name',
    ],
    ['"" = "zai/x"', 'models."": is an empty name; write a name that clients can ask for'],
  ])("%s is refused", (line, what) => {
    expect(problemsIn(entry(line))).toEqual([`d.toml:2: ${what}`]);
  });

  test("does not lead to another name", () => {
    expect(problemsIn(entry('a = "zai/x"\nb = "a"'))).toEqual([
      'd.toml:3: models.b: leads to another name, and only a model of an upstream can stand here; write "upstream/model"',
    ]);
  });

  test("may lead to the demo where it is served", () => {
    expect(read('[models]\na = "demo/clean"').models.get("a")?.targets).toEqual([
      { upstream: "demo", model: "clean" },
    ]);
    expect(problemsIn('server.demo = false\n[models]\na = "demo/clean"')).toEqual([
      'd.toml:3: models.a: there is no upstream "demo"; known are none',
    ]);
    expect(problemsIn('[models]\n"demo/x" = "demo/clean"')).toHaveLength(1);
  });

  test("may lead to an upstream of the command line", () => {
    const [added] = read(local).upstreams.values();
    const upstreams = added === undefined ? [] : [added];
    expect(read('[models]\na = "local/x"', {}, { upstreams }).models.size).toBe(1);
  });

  test("that is no listed model is a warning, with the nearest", () => {
    expect(read(entry('a = "local/qwen3-codr"')).warnings).toEqual([
      'd.toml:2: models.a: local does not list "qwen3-codr" in its models; did you mean local/qwen3-coder?',
    ]);
  });

  test("does not suffer from another mistake in its upstream", () => {
    expect(problemsIn('[models]\na = "zai/x"\n[upstreams.zai]\nspeaks = "chat"')).toEqual([
      expect.stringMatching(/^d\.toml:3: upstreams\.zai\.base_url: is missing/),
    ]);
  });
});

describe("a price", () => {
  const priceOf = (line: string) => read(entry(line)).models.get("a")?.price;

  test("is of a name, for a million tokens that are sent and written", () => {
    expect(priceOf('a = { use = "zai/x", price_input = 1, price_output = 2.5 }')).toEqual({
      input: 1,
      output: 2.5,
    });
    expect(
      priceOf('a = { use = "zai/x", price_input = 1, price_cached = 0.1, price_output = 2 }'),
    ).toEqual({ input: 1, cached: 0.1, output: 2 });
    expect(priceOf('a = { use = "zai/x", price_input = 0, price_output = 0 }')).toEqual({
      input: 0,
      output: 0,
    });
    expect(priceOf('a = { use = "zai/x" }')).toBeUndefined();
    expect(priceOf('a = "zai/x"')).toBeUndefined();
  });

  test("of a picture stands beside those of tokens, or alone with a model that makes pictures", () => {
    expect(
      priceOf('a = { use = "zai/x", price_input = 1, price_output = 2, price_image = 0.04 }'),
    ).toEqual({ input: 1, output: 2, image: 0.04 });
    const alone = { input: 0, output: 0, image: 0.04 };
    expect(priceOf('a = { use = "zai/dall-e-3", price_image = 0.04 }')).toEqual(alone);
    expect(priceOf('a = { use = "zai/x", type = "image-edit", price_image = 0.04 }')).toEqual(
      alone,
    );
  });

  test.each([
    ["price_input = 1", ["price_output: is missing; a price needs price_input and price_output"]],
    ["price_output = 1", ["price_input: is missing; a price needs price_input and price_output"]],
    [
      "price_cached = 1",
      [
        "price_input: is missing; a price needs price_input and price_output",
        "price_output: is missing; a price needs price_input and price_output",
      ],
    ],
    ["price_input = -1, price_output = 1", ["price_input: is -1; write a number at least 0"]],
    ['price_input = 1, price_output = "2"', ["price_output: is a text; write a number"]],
    [
      "price_image = 1",
      [
        "price_input: is missing; a price needs price_input and price_output",
        "price_output: is missing; a price needs price_input and price_output",
      ],
    ],
    [
      'type = "image-gen", price_image = 1, price_input = 1',
      ["price_output: is missing; a price needs price_input and price_output"],
    ],
    ["price = 1", ["price: is no setting; did you mean price_input?"]],
  ])("of %s is refused", (prices, expected) => {
    expect(problemsIn(entry(`a = { use = "zai/x", ${prices} }`))).toEqual(
      expected.map((what) => `d.toml:2: models.a.${what}`),
    );
  });
});

describe("what a model can do", () => {
  const aliasIn = (settings: string) =>
    read(entry(`a = { use = "zai/x"${settings} }`)).models.get("a");

  test("is as the file says, and not known where it says nothing", () => {
    expect(
      aliasIn(', type = "audio-stt", takes = ["audio", "audio"], tools = false'),
    ).toMatchObject({ type: "audio-stt", takes: ["audio"], tools: false });
    expect(aliasIn(", takes = []")).toMatchObject({ takes: [] });
    const unsaid = { type: undefined, takes: undefined, tools: undefined, options: {} };
    expect(aliasIn("")).toMatchObject(unsaid);
    expect(read(entry('a = "zai/dall-e-3"')).models.get("a")).toMatchObject(unsaid);
  });

  test.each([
    [
      'type = "image"',
      'type: is none of its words; write one of "chat", "image-gen", "image-edit", "audio-stt", "audio-tts"; did you mean image-gen?',
    ],
    [
      'takes = ["pdf", "video"]',
      'takes[1]: is none of its words; write one of "image", "audio", "pdf"',
    ],
    ['takes = "pdf"', 'takes: is a text; write a list of words: ["…"]'],
    ['tools = "no"', "tools: is a text; write true or false"],
    ["price_image = -1", "price_image: is -1; write a number at least 0"],
    ['options = "x"', "options: is a text; write a table: { name = … }"],
  ])("is not %s", (setting, what) => {
    expect(problemsIn(entry(`a = { use = "zai/x", ${setting} }`))).toEqual([
      `d.toml:2: models.a.${what}`,
    ]);
  });
});
