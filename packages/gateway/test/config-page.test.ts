import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configurationPage, example } from "../check/configuration-page.ts";
import { settings } from "../src/config/settings.ts";
import { read } from "./reading-config.ts";

const page = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");

test("docs/configuration.md is what the table of settings gives", () => {
  const command =
    "node --conditions=@deltawire/source packages/gateway/check/configuration-page.ts";
  expect(page, `write it anew: ${command}`).toBe(configurationPage());
});

test("the page has every setting and its sentence", () => {
  for (const { path, description } of settings) {
    expect(page).toContain(`| \`${path.split(".").at(-1)}\``);
    expect(page).toContain(description);
  }
});

test("the example of the page is good, without a warning", () => {
  const env = { EDITOR_TOKEN: "t", ZAI_API_KEY: "z", AZURE_API_KEY: "a", TICKETS_TOKEN: "t" };
  const config = read(example, env);
  expect(config.warnings).toEqual([]);
  expect([...config.upstreams.keys()]).toEqual(["zai", "local", "azure"]);
  expect(page).toContain(example);
});
