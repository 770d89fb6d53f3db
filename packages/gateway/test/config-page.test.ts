import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderConfigurationPage, example } from "../check/configuration-page.ts";
import { settingDefinitions } from "../src/config/setting-definitions.ts";
import { parseToml } from "./config-fixture.ts";

const page = readFileSync(
  new URL("../../../docs/reference/configuration.md", import.meta.url),
  "utf8",
);

test("docs/reference/configuration.md is up to date", () => {
  const command =
    "node --conditions=@deltawire/source packages/gateway/check/configuration-page.ts";
  expect(page, `run: ${command}`).toBe(renderConfigurationPage());
});

test("the configuration page has every setting with its description", () => {
  for (const { path, description } of settingDefinitions) {
    expect(page).toContain(`| \`${path.split(".").at(-1)}\``);
    expect(page).toContain(description);
  }
});

test("the example on the configuration page is valid, without warnings", () => {
  const env = { EDITOR_TOKEN: "t", ZAI_API_KEY: "z", AZURE_API_KEY: "a", TICKETS_TOKEN: "t" };
  const config = parseToml(example, env);
  expect(config.warnings).toEqual([]);
  expect([...config.upstreams.keys()]).toEqual(["zai", "local", "azure"]);
  expect(page).toContain(example);
});
