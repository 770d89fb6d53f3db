import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkCodexConfig } from "@deltawire/wire/codex";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { aGateway } from "./scene.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** `answer`: the text block right below it. */
function blocks(language: string) {
  const fence = `^ *\`\`\`${language}\\n([^]*?)^ *\`\`\`\\n(?:\\n\`\`\`text\\n([^]*?)^\`\`\`\\n)?`;
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(fence, "gm"))].map(([, code = "", answer], nth) => ({
      name: `${path}, block ${nth + 1}`,
      code,
      answer,
    })),
  );
}

describe("an example of a configuration in the docs is one", () => {
  const all = blocks("toml");
  const codexs = all.filter(({ code }) => code.includes("[model_providers"));
  const ours = all.filter((block) => !codexs.includes(block));

  function read(code: string) {
    const names = [...code.matchAll(/"env:(\w+)"/g)].map(([, name = ""]) => name);
    const env = Object.fromEntries(names.map((name) => [name, `the-key-in-${name}`]));
    return readConfig(code, { file: "deltawire.toml", env });
  }

  test.each(ours.filter(({ answer }) => answer === undefined))("$name", ({ code }) => {
    expect(read(code).warnings).toEqual([]);
  });

  test.each(ours.filter(({ answer }) => answer !== undefined))(
    "$name is refused as the docs say",
    ({ code, answer = "" }) => {
      expect(() => read(code)).toThrow(answer.trimEnd());
    },
  );

  test.each(codexs)("of Codex: $name", ({ code }) => {
    expect(checkCodexConfig(parse(code)).model_provider).toBe("deltawire");
  });
});

test("a request that the docs make with curl is answered", async () => {
  const gateway = await aGateway("");
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
