import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validateCodexConfig } from "@deltawire/wire/codex";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { testGateway } from "./gateway-fixture.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
const pages = ["README.md", ...docs.map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** `output`: the text block right after the example. */
function blocks(language: string) {
  const fence = `^ *\`\`\`${language}\\n([^]*?)^ *\`\`\`\\n(?:\\n\`\`\`text\\n([^]*?)^\`\`\`\\n)?`;
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(fence, "gm"))].map(([, code = "", output], nth) => ({
      name: `${path}, block ${nth + 1}`,
      code,
      output,
    })),
  );
}

describe("a configuration example in the docs is valid", () => {
  const all = blocks("toml");
  const codexBlocks = all.filter(({ code }) => code.includes("[model_providers"));
  const gatewayBlocks = all.filter((block) => !codexBlocks.includes(block));

  function read(code: string) {
    const names = [...code.matchAll(/"env:(\w+)"/g)].map(([, name = ""]) => name);
    const env = Object.fromEntries(names.map((name) => [name, `the-key-in-${name}`]));
    return parseConfig(code, { file: "deltawire.toml", env });
  }

  test.each(gatewayBlocks.filter(({ output }) => output === undefined))("$name", ({ code }) => {
    expect(read(code).warnings).toEqual([]);
  });

  test.each(gatewayBlocks.filter(({ output }) => output !== undefined))(
    "$name is rejected as the docs say",
    ({ code, output = "" }) => {
      expect(() => read(code)).toThrow(output.trimEnd());
    },
  );

  test.each(codexBlocks)("of Codex: $name", ({ code }) => {
    expect(validateCodexConfig(parse(code)).model_provider).toBe("deltawire");
  });
});

test("a request that the docs make with curl succeeds", async () => {
  const gateway = await testGateway("");
  const calls = blocks("sh").flatMap(({ code }) => [
    ...code.matchAll(/curl \S+(\/v1\S+)[^]*?-d '([^']+)'/g),
  ]);
  expect(calls.length).toBeGreaterThan(0);
  for (const [, path = "", body = ""] of calls) {
    const response = await fetch(gateway.url + path, { method: "POST", body });
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text()).toContain("data: [DONE]");
  }
});
