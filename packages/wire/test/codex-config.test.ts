import { WireError } from "@deltawire/wire";
import { validateCodexConfig, parseModelProvider } from "@deltawire/wire/codex";
import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { runOutcome } from "./run-outcome.ts";

/* All messages below are those of Codex 0.166.0 for the same configuration. */

const chatRemovedMessage = [
  '`wire_api = "chat"` is no longer supported.',
  'How to fix: set `wire_api = "responses"` in your provider config.',
  "More info: https://github.com/openai/codex/discussions/7782",
].join("\n");

function getConfigError(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError && error.code === "invalid_config") return error.message;
    throw error;
  }
  throw new Error("expected a WireError with code invalid_config");
}

describe("a provider's table", () => {
  const parseWireApi = (line: string) => parseModelProvider(parse(`name = "A"\n${line}`)).wire_api;

  test("has wire_api responses by default or if it is null", () => {
    expect(parseWireApi("")).toBe("responses");
    expect(parseWireApi('wire_api = "responses"')).toBe("responses");
    expect(parseModelProvider({ wire_api: null }).wire_api).toBe("responses");
  });

  test("with wire_api chat is rejected with a message of three lines", () => {
    expect(getConfigError(() => parseWireApi('wire_api = "chat"'))).toBe(chatRemovedMessage);
  });

  test.each([
    ['"grpc"', "unknown variant `grpc`, expected `responses`"],
    ['"Chat"', "unknown variant `Chat`, expected `responses`"],
    ['""', "unknown variant ``, expected `responses`"],
    ['"a`b\\nc"', "unknown variant `a`b\nc`, expected `responses`"],
    ["1979-05-27", "unknown variant `1979-05-27`, expected `responses`"],
    ["1", "invalid type: integer `1`, expected a string"],
    ["1.5", "invalid type: floating point `1.5`, expected a string"],
    ["true", "invalid type: boolean `true`, expected a string"],
    ['["chat"]', "invalid type: sequence, expected a string"],
    ["{ a = 1 }", "invalid type: map, expected a string"],
  ])("with wire_api = %s is rejected with: %s", (value, message) => {
    expect(getConfigError(() => parseWireApi(`wire_api = ${value}`))).toBe(message);
  });

  test.each([
    ["base_url = 3", "invalid type: integer `3`, expected a string"],
    ['request_max_retries = "4"', 'invalid type: string "4", expected u64'],
    ["request_max_retries = -4", "invalid value: integer `-4`, expected u64"],
    ['supports_websockets = "yes"', 'invalid type: string "yes", expected a boolean'],
    ["query_params = { a = 1 }", "invalid type: integer `1`, expected a string"],
    ['http_headers = "x"', 'invalid type: string "x", expected a map'],
  ])("with %s is rejected with: %s", (line, message) => {
    expect(getConfigError(() => parseWireApi(line))).toBe(message);
  });

  test("is read with Codex's defaults, and its unknown fields are dropped", () => {
    const table = parse(`
      name = "Azure"
      base_url = "https://example.org/openai"
      query_params = { api-version = "2025-04-01-preview" }
      stream_max_retries = 7
      auth = { command = "token" }
      color = "red"
    `);
    expect(parseModelProvider(table)).toEqual({
      name: "Azure",
      base_url: "https://example.org/openai",
      query_params: { "api-version": "2025-04-01-preview" },
      stream_max_retries: 7,
      auth: { command: "token" },
      wire_api: "responses",
      requires_openai_auth: false,
      supports_websockets: false,
      supports_standalone_web_search: false,
    });
  });

  test("with two errors is rejected with the first one", () => {
    expect(getConfigError(() => parseModelProvider(parse('wire_api = "chat"\nname = 3')))).toBe(
      chatRemovedMessage,
    );
    expect(getConfigError(() => parseModelProvider(parse('name = 3\nwire_api = "chat"')))).toBe(
      "invalid type: integer `3`, expected a string",
    );
  });

  test("must be a table, in which a bigint is an integer", () => {
    expect(getConfigError(() => parseModelProvider("x"))).toBe(
      'invalid type: string "x", expected struct ModelProviderInfo',
    );
    expect(getConfigError(() => parseModelProvider({ wire_api: 2n }))).toBe(
      "invalid type: integer `2`, expected a string",
    );
  });
});

describe("a complete configuration", () => {
  const mock = '[model_providers.mock]\nname = "Mock"\nbase_url = "http://127.0.0.1:1/v1"\n';
  const check = (toml: string, file?: string) => validateCodexConfig(parse(toml), file);
  const getStderr = (toml: string) => getConfigError(() => check(toml));

  test("is accepted with and without providers", () => {
    const { model_provider, model_providers, warnings } = check(`model_provider = "mock"\n${mock}`);
    expect(model_provider).toBe("mock");
    expect(model_providers).toHaveProperty("mock.wire_api", "responses");
    expect(warnings).toEqual([]);
    expect(check("")).toEqual({ model_provider: "openai", model_providers: {}, warnings: [] });
  });

  test.each(["mock", "unused", "openai", "amazon-bedrock", "a.b c"])(
    "is rejected for wire_api chat in provider %j, even if it is not selected",
    (id) => {
      expect(
        getStderr(
          id === "mock"
            ? `model_provider = "mock"\n${mock}wire_api = "chat"\n`
            : `model_provider = "mock"\n${mock}\n[model_providers."${id}"]\nname = "x"\nwire_api = "chat"\n`,
        ),
      ).toBe(
        `Error loading config.toml: ${chatRemovedMessage}\nin \`model_providers.${id}.wire_api\``,
      );
    },
  );

  test.each([
    [
      `${mock}wire_api = "grpc"`,
      "unknown variant `grpc`, expected `responses`\nin `model_providers.mock.wire_api`",
    ],
    [
      `${mock}wire_api = 1`,
      "invalid type: integer `1`, expected a string\nin `model_providers.mock.wire_api`",
    ],
    [
      `${mock}query_params = { a = 1 }`,
      "invalid type: integer `1`, expected a string\nin `model_providers.mock.query_params.a`",
    ],
    [
      '[model_providers.mock]\nbase_url = "x"',
      "model_providers.mock: provider name must not be empty\nin `model_providers`",
    ],
    [
      '[model_providers.mock]\nname = " "',
      "model_providers.mock: provider name must not be empty\nin `model_providers`",
    ],
    [
      `${mock}[model_providers.openai]\nname = "x"\n[model_providers.ollama]\nname = "y"`,
      "model_providers contains reserved built-in provider IDs: `ollama`, `openai`. Built-in providers cannot be overridden. Rename your custom provider (for example, `openai-custom`).\nin `model_providers`",
    ],
    ['model_providers = "x"', 'invalid type: string "x", expected a map\nin `model_providers`'],
    [
      '[model_providers]\nmock = "x"',
      'invalid type: string "x", expected struct ModelProviderInfo\nin `model_providers.mock`',
    ],
    ["model_provider = 3", "invalid type: integer `3`, expected a string\nin `model_provider`"],
  ])("of %j is rejected", (toml, message) => {
    expect(getStderr(toml)).toBe(`Error loading config.toml: ${message}`);
  });

  test("is rejected if it does not define the provider that it selects", () => {
    expect(getStderr('model_provider = "nope"')).toBe("Error: Model provider `nope` not found");
    expect(getStderr('model_provider = "ollama-chat"')).toMatch(
      /^Error: `ollama-chat` is no longer supported\.\nHow to fix: replace/,
    );
    expect(check('model_provider = "ollama"').model_provider).toBe("ollama");
    expect(getStderr('model_provider = "toString"')).toContain("not found");
  });

  test("with unknown settings is accepted with Codex's warning", () => {
    expect(check(`${mock}wire-api = "chat"\n`).warnings).toEqual([
      "Codex is ignoring 1 unrecognized configuration setting. Check for typos or deprecated settings.\n  user (config.toml): `model_providers.mock.wire-api` is ignored.",
    ]);
    const misplaced = 'wire_api = "chat"\nbase_url = "x"\nname = "n"\nenv_key = "K"\n';
    expect(check(misplaced + mock, "my.toml").warnings).toEqual([
      [
        "Codex is ignoring 4 unrecognized configuration settings. Check for typos or deprecated settings.",
        "  user (my.toml): `base_url` is ignored.",
        "  user (my.toml): `env_key` is ignored.",
        "  user (my.toml): `name` is ignored.",
        "  ... and 1 more ignored settings.",
      ].join("\n"),
    ]);
  });

  test("may override a built-in provider without a name", () => {
    expect(check('[model_providers.amazon-bedrock]\nbase_url = "x"').warnings).toEqual([]);
  });

  test("of any shape is accepted or rejected with a WireError", () => {
    const table = fc.dictionary(
      fc.constantFrom("name", "wire_api", "request_max_retries", "query_params", "x", "__proto__"),
      fc.oneof(fc.constantFrom("chat", "responses"), fc.jsonValue()),
    );
    const config = fc.oneof(
      fc.jsonValue(),
      fc.record({
        model_providers: fc.oneof(fc.dictionary(fc.string(), table), fc.jsonValue()),
        model_provider: fc.oneof(fc.string(), fc.jsonValue()),
      }),
    );
    fc.assert(
      fc.property(config, (value) => {
        expect(["done", "rejected"]).toContain(runOutcome(() => validateCodexConfig(value)));
      }),
      propertyRuns(300),
    );
  });
});
