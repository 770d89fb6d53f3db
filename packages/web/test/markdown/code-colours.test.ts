import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");
const css =
  readFileSync(join(source, "parts/theme.css"), "utf8") +
  readFileSync(join(source, "markdown/code-colours.css"), "utf8");

/** The colours of a theme: each is written once for both of them. */
function colours(theme: "light" | "dark"): Map<string, string> {
  const pairs = css.matchAll(/(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g);
  return new Map(
    [...pairs].map(([, name = "", light = "", dark = ""]) => [
      name,
      theme === "light" ? light : dark,
    ]),
  );
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test.each(["light", "dark"] as const)("code can be read in the %s", (theme) => {
  const all = colours(theme);
  const background = all.get("--code-background") ?? "";
  const names = [...all.keys()].filter((name) => /^--code-(?!background)/.test(name));
  expect(names.length).toBe(6);
  for (const name of [...names, "--text", "--muted"])
    expect(contrast(all.get(name) ?? "", background), name).toBeGreaterThan(4.5);
  for (const name of ["--ok", "--danger"])
    expect(contrast(all.get(name) ?? "", all.get(`${name}-soft`) ?? ""), name).toBeGreaterThan(4.5);
});
