import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");
const css =
  readFileSync(join(source, "ui/theme.css"), "utf8") +
  readFileSync(join(source, "markdown/code-colors.css"), "utf8");

/** Returns the colors of a theme by name. Each `light-dark()` defines the color of both themes. */
function parseColors(theme: "light" | "dark"): Map<string, string> {
  const pairs = css.matchAll(/(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g);
  return new Map(
    [...pairs].map(([, name = "", light = "", dark = ""]) => [
      name,
      theme === "light" ? light : dark,
    ]),
  );
}

function computeLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((index) => {
    const part = Number.parseInt(color.slice(index, index + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function computeContrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [computeLuminance(one), computeLuminance(other)].toSorted(
    (a, b) => a - b,
  );
  return (light + 0.05) / (dark + 0.05);
}

test.each(["light", "dark"] as const)(
  "the colors of code have sufficient contrast in the %s theme",
  (theme) => {
    const all = parseColors(theme);
    const background = all.get("--code-background") ?? "";
    const names = [...all.keys()].filter((name) => /^--code-(?!background)/.test(name));
    expect(names.length).toBe(6);
    for (const name of [...names, "--text", "--muted"])
      expect(computeContrast(all.get(name) ?? "", background), name).toBeGreaterThan(4.5);
    for (const name of ["--ok", "--danger"])
      expect(
        computeContrast(all.get(name) ?? "", all.get(`${name}-soft`) ?? ""),
        name,
      ).toBeGreaterThan(4.5);
  },
);
