import { expect, test } from "vitest";
import { readJson, repositoryFiles } from "./repository-files.ts";

type Manifest = Partial<Record<(typeof versionFields)[number], Record<string, string>>> & {
  scripts?: Record<string, string>;
};

const versionFields = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "overrides",
] as const;

// Recordings and lock files are other people's text.
const ours = repositoryFiles(/(?:\.(?:[cm]?[jt]sx?|md|json|ya?ml|toml)|\/run|\.npmrc)$/).filter(
  ({ path }) => !/package-lock\.json$|^packages\/[^/]+\/(?:test|check|bench)\/.*\.json$/.test(path),
);
const manifests = ours.filter(({ path }) => /(?:^|\/)package\.json$/.test(path));

test("no file names a path of one machine", () => {
  expect(linesMatching(/(?<![\w.)\]-])\/(?:work|root|tmp|home|Users)\b/)).toEqual([]);
});

test("no test is left out or left alone, and no work is left in a comment", () => {
  expect(linesMatching(/\b(?:test|it|describe|suite)\.(?:only|skip|todo)\b/, /\.ts$/)).toEqual([]);
  expect(linesMatching(/\b(?:TO[D]O|FIX[M]E)\b/, /\.ts$/)).toEqual([]);
});

test("the lock file names no registry", () => {
  const { packages } = readJson<{ packages: Record<string, { resolved?: string }> }>(
    "package-lock.json",
  );
  const addresses = Object.values(packages).flatMap(({ resolved }) => resolved ?? []);
  expect(addresses.filter((address) => !address.startsWith("packages/"))).toEqual([]);
});

test("every dependency has one exact version", () => {
  const versions = manifests.flatMap(({ path, text }) => {
    const manifest = JSON.parse(text) as Manifest;
    return versionFields
      .flatMap((field) => Object.entries(manifest[field] ?? {}))
      .map(([name, version]) => `${path}: ${name}@${version}`);
  });
  expect(versions.length).toBeGreaterThan(0);
  expect(versions.filter((line) => !/@\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});

test("every npm script goes through the launcher", () => {
  for (const { path, text } of manifests) {
    const { scripts = {} } = JSON.parse(text) as Manifest;
    for (const [name, command] of Object.entries(scripts)) {
      expect(command, `${path}: ${name}`).toMatch(/^node scripts\/launch\.cjs [^&|;]+$/);
    }
  }
});

test("the README shows the two commands", () => {
  const readme = ours.find(({ path }) => path === "README.md")?.text;
  expect(readme).toMatch(/^npm start\b/m);
  expect(readme).toMatch(/^npm test\b/m);
});

function linesMatching(pattern: RegExp, paths = /./): string[] {
  return ours
    .filter(({ path }) => paths.test(path))
    .flatMap(({ path, text }) => text.split("\n").map((line, at) => ({ path, line, at })))
    .filter(({ line }) => pattern.test(line))
    .map(({ path, line, at }) => `${path}:${at + 1}: ${line.trim()}`);
}
