import { expect, test } from "vitest";
import { readRepositoryJson, repositoryFiles } from "./repository-files.ts";

type Manifest = Partial<Record<(typeof versionFields)[number], Record<string, string>>> & {
  scripts?: Record<string, string>;
};

const versionFields = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "overrides",
] as const;

// Excludes recordings and lock files.
const ownFiles = repositoryFiles(/(?:\.(?:[cm]?[jt]sx?|md|json|ya?ml|toml)|\/run|\.npmrc)$/).filter(
  ({ path }) => !/package-lock\.json$|^packages\/[^/]+\/(?:test|check|bench)\/.*\.json$/.test(path),
);
const manifests = ownFiles.filter(({ path }) => /(?:^|\/)package\.json$/.test(path));

test("no file contains a path that exists on only one machine", () => {
  expect(findLines(/(?<![\w.)\]-])\/(?:work|root|tmp|home|Users)\b/)).toEqual([]);
});

test("no test is skipped or exclusive, and no comment is marked as unfinished", () => {
  expect(findLines(/\b(?:test|it|describe|suite)\.(?:only|skip|todo)\b/, /\.ts$/)).toEqual([]);
  expect(findLines(/\b(?:TO[D]O|FIX[M]E)\b/, /\.ts$/)).toEqual([]);
});

test("the lock file contains no address of a registry", () => {
  const { packages } = readRepositoryJson<{ packages: Record<string, { resolved?: string }> }>(
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

test("every npm script uses the launcher", () => {
  for (const { path, text } of manifests) {
    const { scripts = {} } = JSON.parse(text) as Manifest;
    for (const [name, command] of Object.entries(scripts)) {
      expect(command, `${path}: ${name}`).toMatch(/^node scripts\/launch\.cjs [^&|;]+$/);
    }
  }
});

test("the README shows the two commands to start", () => {
  const readme = ownFiles.find(({ path }) => path === "README.md")?.text;
  expect(readme).toMatch(/^npm start\b/m);
  expect(readme).toMatch(/^npm test\b/m);
});

function findLines(pattern: RegExp, paths = /./): string[] {
  return ownFiles
    .filter(({ path }) => paths.test(path))
    .flatMap(({ path, text }) => text.split("\n").map((line, index) => ({ path, line, index })))
    .filter(({ line }) => pattern.test(line))
    .map(({ path, line, index }) => `${path}:${index + 1}: ${line.trim()}`);
}
