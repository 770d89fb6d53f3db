import { describe, expect, test } from "vitest";
import { listProblems, parseToml, zaiToml, formatProblem } from "./config-fixture.ts";

const localToml =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["qwen3-coder"]\n';

/** Returns a file with `[models]` on line 1 and the definition of a model on line 2. */
function modelsToml(definition: string): string {
  return `[models]\n${definition}\n\n${zaiToml}${localToml}`;
}

describe("a name in [models]", () => {
  test.each([
    ['a = "zai/glm-4.6"', ["zai/glm-4.6"]],
    ['a = ["zai/glm-4.6", "local/qwen3-coder"]', ["zai/glm-4.6", "local/qwen3-coder"]],
    ['a = { use = "local/qwen3-coder" }', ["local/qwen3-coder"]],
    ['[models.a]\nuse = ["local/qwen3-coder", "zai/x"]', ["local/qwen3-coder", "zai/x"]],
    ['a = "zai/vendor/model:free"', ["zai/vendor/model:free"]],
    ['"openai/gpt" = "zai/x"', ["zai/x"]],
    ['"zai" = "zai/x"', ["zai/x"]],
  ])("defined as %s resolves to %j", (definition, expected) => {
    const { models, warnings } = parseToml(
      modelsToml(definition).replace("[models]\n[models.a]", "[models.a]"),
    );
    const [alias] = models.values();
    expect(alias?.targets.map(({ upstream, model }) => `${upstream}/${model}`)).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  test.each([
    ['a = "zia/x"', 'models.a: unknown upstream "zia" (did you mean zai?)'],
    ['a = ["zai/x", "locale/y"]', 'models.a[1]: unknown upstream "locale" (did you mean local?)'],
    [
      'a = { use = ["acme/x"] }',
      'models.a.use[0]: unknown upstream "acme"; known upstreams: zai, local',
    ],
    ['a = "/x"', 'models.a: unknown upstream ""; known upstreams: zai, local'],
    ['a = "demo/clean"', 'models.a: unknown upstream "demo"; known upstreams: zai, local'],
    ['a = "glm"', 'models.a: must be "upstream/model"'],
    ['a = "zai/"', 'models.a: must be "upstream/model"'],
    ['a = "qwen3-coder"', 'models.a: must be "upstream/model" (did you mean local/qwen3-coder?)'],
    ["a = []", 'models.a: must not be empty; write "upstream/model"'],
    ['a = ["zai/x", "zai/x"]', "models.a: lists zai/x twice"],
    ['a = ""', "models.a: must not be empty; remove it or write a string"],
    ['a = { user = "zai/x", use = "zai/y" }', "unknown setting models.a.user (did you mean use?)"],
    [
      "a = { context_window = 1 }",
      'models.a.use: missing; write use = "upstream/model", or a list that is tried in order',
    ],
    [
      '"zai/glm" = "zai/x"',
      'models."zai/glm": looks like a model of the upstream zai, which needs no entry; choose another name',
    ],
    ['"" = "zai/x"', 'models."": the name of a model must not be empty'],
  ])("defined as %s is an error", (definition, problem) => {
    expect(listProblems(modelsToml(definition))).toEqual([`d.toml:2: ${problem}`]);
  });

  test("cannot refer to another name in [models]", () => {
    expect(listProblems(modelsToml('a = "zai/x"\nb = "a"'))).toEqual([
      'd.toml:3: models.b: must be "upstream/model", not another name from [models]',
    ]);
  });

  test("can refer to a model of the demo unless the demo is disabled", () => {
    expect(parseToml('[models]\na = "demo/clean"').models.get("a")?.targets).toEqual([
      { upstream: "demo", model: "clean" },
    ]);
    expect(listProblems('server.demo = false\n[models]\na = "demo/clean"')).toEqual([
      'd.toml:3: models.a: unknown upstream "demo"; known upstreams: none',
    ]);
    expect(listProblems('[models]\n"demo/x" = "demo/clean"')).toHaveLength(1);
  });

  test("can refer to an upstream from the command line", () => {
    const [added] = parseToml(localToml).upstreams.values();
    const upstreams = added === undefined ? [] : [added];
    expect(parseToml('[models]\na = "local/x"', {}, { upstreams }).models.size).toBe(1);
  });

  test("for a model that is not in its upstream's list is a warning with a suggestion", () => {
    expect(parseToml(modelsToml('a = "local/qwen3-codr"')).warnings).toEqual([
      'd.toml:2: models.a: "qwen3-codr" is not in the models of local (did you mean local/qwen3-coder?)',
    ]);
  });

  test("is not reported as an error if its upstream already is", () => {
    expect(listProblems('[models]\na = "zai/x"\n[upstreams.zai]\nspeaks = "chat"')).toEqual([
      expect.stringMatching(/^d\.toml:3: upstreams\.zai\.base_url: missing/),
    ]);
  });
});

describe("the price of a model", () => {
  const parsePrice = (line: string) => parseToml(modelsToml(line)).models.get("a")?.price;

  test("is set per million input and output tokens, and optionally per million cached tokens", () => {
    expect(parsePrice('a = { use = "zai/x", price_input = 1, price_output = 2.5 }')).toEqual({
      input: 1,
      output: 2.5,
    });
    expect(
      parsePrice('a = { use = "zai/x", price_input = 1, price_cached = 0.1, price_output = 2 }'),
    ).toEqual({ input: 1, cached: 0.1, output: 2 });
    expect(parsePrice('a = { use = "zai/x", price_input = 0, price_output = 0 }')).toEqual({
      input: 0,
      output: 0,
    });
    expect(parsePrice('a = { use = "zai/x" }')).toBeUndefined();
    expect(parsePrice('a = "zai/x"')).toBeUndefined();
  });

  test("can be set per image in addition to tokens, or only per image for image models", () => {
    expect(
      parsePrice('a = { use = "zai/x", price_input = 1, price_output = 2, price_image = 0.04 }'),
    ).toEqual({ input: 1, output: 2, image: 0.04 });
    const imagePrice = { input: 0, output: 0, image: 0.04 };
    expect(parsePrice('a = { use = "zai/dall-e-3", price_image = 0.04 }')).toEqual(imagePrice);
    expect(parsePrice('a = { use = "zai/x", type = "image-edit", price_image = 0.04 }')).toEqual(
      imagePrice,
    );
  });

  test.each([
    ["price_input = 1", ["price_output: missing; a price needs both price_input and price_output"]],
    ["price_output = 1", ["price_input: missing; a price needs both price_input and price_output"]],
    [
      "price_cached = 1",
      [
        "price_input: missing; a price needs both price_input and price_output",
        "price_output: missing; a price needs both price_input and price_output",
      ],
    ],
    ["price_input = -1, price_output = 1", ["price_input: must be at least 0, got -1"]],
    ['price_input = 1, price_output = "2"', ["price_output: must be a number, got a string"]],
    [
      "price_image = 1",
      [
        "price_input: missing; a price needs both price_input and price_output",
        "price_output: missing; a price needs both price_input and price_output",
      ],
    ],
    [
      'type = "image-gen", price_image = 1, price_input = 1',
      ["price_output: missing; a price needs both price_input and price_output"],
    ],
    ["price = 1", ["unknown setting price (did you mean price_input?)"]],
  ])("set as %s is an error", (prices, expected) => {
    expect(listProblems(modelsToml(`a = { use = "zai/x", ${prices} }`))).toEqual(
      expected.map((problem) => formatProblem(2, "models.a", problem)),
    );
  });
});

describe("the capabilities of a model", () => {
  const parseModel = (settings: string) =>
    parseToml(modelsToml(`a = { use = "zai/x"${settings} }`)).models.get("a");

  test("are those in the file; those that are not set are undefined", () => {
    expect(
      parseModel(', type = "audio-stt", input_modalities = ["audio", "audio"], tools = false'),
    ).toMatchObject({ type: "audio-stt", inputModalities: ["audio"], supportsTools: false });
    expect(parseModel(", input_modalities = []")).toMatchObject({ inputModalities: [] });
    const unset = {
      type: undefined,
      inputModalities: undefined,
      supportsTools: undefined,
      options: {},
    };
    expect(parseModel("")).toMatchObject(unset);
    expect(parseToml(modelsToml('a = "zai/dall-e-3"')).models.get("a")).toMatchObject(unset);
  });

  test.each([
    [
      'type = "image"',
      'type: must be one of "chat", "image-gen", "image-edit", "audio-stt", "audio-tts" (did you mean image-gen?)',
    ],
    [
      'input_modalities = ["pdf", "video"]',
      'input_modalities[1]: must be one of "image", "audio", "pdf"',
    ],
    [
      'input_modalities = "pdf"',
      'input_modalities: must be a list of strings such as ["…"], got a string',
    ],
    ['tools = "no"', "tools: must be true or false, got a string"],
    ["price_image = -1", "price_image: must be at least 0, got -1"],
    ['options = "x"', "options: must be a table such as { name = … }, got a string"],
  ])("are rejected if set with %s", (setting, problem) => {
    expect(listProblems(modelsToml(`a = { use = "zai/x", ${setting} }`))).toEqual([
      `d.toml:2: models.a.${problem}`,
    ]);
  });
});
