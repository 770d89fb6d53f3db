import type { LanguageFn } from "highlight.js";

interface HighlightLanguage {
  name: string;
  /** Other info strings of code fences, separated by spaces. */
  aliases: string;
  load: () => Promise<{ default: LanguageFn }>;
  /** Languages that may be embedded in it. */
  embeddedLanguages?: readonly string[];
}

const languages: Readonly<Record<string, HighlightLanguage>> = {
  bash: {
    name: "Bash",
    aliases: "sh shell zsh shellscript console terminal shell-session",
    load: () => import("highlight.js/lib/languages/bash"),
  },
  c: { name: "C", aliases: "h", load: () => import("highlight.js/lib/languages/c") },
  cpp: {
    name: "C++",
    aliases: "c++ cc cxx hpp hh",
    load: () => import("highlight.js/lib/languages/cpp"),
  },
  csharp: { name: "C#", aliases: "cs c#", load: () => import("highlight.js/lib/languages/csharp") },
  css: { name: "CSS", aliases: "", load: () => import("highlight.js/lib/languages/css") },
  diff: { name: "Diff", aliases: "patch", load: () => import("highlight.js/lib/languages/diff") },
  dockerfile: {
    name: "Dockerfile",
    aliases: "docker containerfile",
    load: () => import("highlight.js/lib/languages/dockerfile"),
    embeddedLanguages: ["bash"],
  },
  go: { name: "Go", aliases: "golang", load: () => import("highlight.js/lib/languages/go") },
  graphql: {
    name: "GraphQL",
    aliases: "gql",
    load: () => import("highlight.js/lib/languages/graphql"),
  },
  http: { name: "HTTP", aliases: "https", load: () => import("highlight.js/lib/languages/http") },
  ini: {
    name: "TOML",
    aliases: "toml conf properties env dotenv",
    load: () => import("highlight.js/lib/languages/ini"),
  },
  java: { name: "Java", aliases: "", load: () => import("highlight.js/lib/languages/java") },
  javascript: {
    name: "JavaScript",
    aliases: "js jsx mjs cjs node",
    load: () => import("highlight.js/lib/languages/javascript"),
  },
  json: {
    name: "JSON",
    aliases: "jsonc json5 jsonl ndjson",
    load: () => import("highlight.js/lib/languages/json"),
  },
  kotlin: {
    name: "Kotlin",
    aliases: "kt kts",
    load: () => import("highlight.js/lib/languages/kotlin"),
  },
  lua: { name: "Lua", aliases: "", load: () => import("highlight.js/lib/languages/lua") },
  makefile: {
    name: "Makefile",
    aliases: "make mk",
    load: () => import("highlight.js/lib/languages/makefile"),
  },
  markdown: {
    name: "Markdown",
    aliases: "md mdx",
    load: () => import("highlight.js/lib/languages/markdown"),
  },
  php: { name: "PHP", aliases: "", load: () => import("highlight.js/lib/languages/php") },
  powershell: {
    name: "PowerShell",
    aliases: "ps1 pwsh ps",
    load: () => import("highlight.js/lib/languages/powershell"),
  },
  python: {
    name: "Python",
    aliases: "py py3 python3 pycon ipython",
    load: () => import("highlight.js/lib/languages/python"),
  },
  r: { name: "R", aliases: "", load: () => import("highlight.js/lib/languages/r") },
  ruby: { name: "Ruby", aliases: "rb", load: () => import("highlight.js/lib/languages/ruby") },
  rust: { name: "Rust", aliases: "rs", load: () => import("highlight.js/lib/languages/rust") },
  scala: { name: "Scala", aliases: "", load: () => import("highlight.js/lib/languages/scala") },
  scss: { name: "SCSS", aliases: "sass", load: () => import("highlight.js/lib/languages/scss") },
  sql: {
    name: "SQL",
    aliases: "mysql postgres postgresql pgsql sqlite plsql",
    load: () => import("highlight.js/lib/languages/sql"),
  },
  swift: { name: "Swift", aliases: "", load: () => import("highlight.js/lib/languages/swift") },
  typescript: {
    name: "TypeScript",
    aliases: "ts tsx mts cts",
    load: () => import("highlight.js/lib/languages/typescript"),
  },
  xml: {
    name: "HTML",
    aliases: "html xhtml svg vue svelte rss xsl plist",
    load: () => import("highlight.js/lib/languages/xml"),
    embeddedLanguages: ["css", "javascript"],
  },
  yaml: { name: "YAML", aliases: "yml", load: () => import("highlight.js/lib/languages/yaml") },
};

const keyByAlias = new Map(
  Object.entries(languages).flatMap(([key, { aliases }]) =>
    [key, ...aliases.split(" ")].map((alias) => [alias, key] as const),
  ),
);

/** Returns the highlight.js key for the info string of a code fence, or undefined if the language is unknown. */
export function findLanguageKey(language: string): string | undefined {
  return language === "" ? undefined : keyByAlias.get(language.toLowerCase());
}

/** Returns the display name of a language. Unknown names are returned unchanged. */
export function formatLanguageName(language: string): string {
  const lower = language.toLowerCase();
  if (lower === "xml" || lower === "svg") return lower.toUpperCase();
  if (lower === "text" || lower === "txt" || lower === "plaintext") return "";
  const name = languages[findLanguageKey(language) ?? ""]?.name;
  return name === undefined || (name === "TOML" && lower !== "toml") ? language : name;
}

/** Loads a language and those that may be embedded in it. */
export async function loadLanguage(key: string): Promise<{ key: string; language: LanguageFn }[]> {
  const keys = [key, ...(languages[key]?.embeddedLanguages ?? [])];
  const loadedLanguages = await Promise.all(
    keys.map(async (languageKey) => {
      const language = (await languages[languageKey]?.load())?.default;
      return language === undefined ? [] : [{ key: languageKey, language }];
    }),
  );
  return loadedLanguages.flat();
}
