import type { HostEnvironment } from "../config/config-paths.ts";
import { createBackup, readIfExists, writeFileAtomic } from "./config-files.ts";
import { createUnifiedDiff, type DiffLine, type FileChange } from "./diff.ts";
import { editJson } from "./json-editor.ts";
import { toDisplayPath } from "./prepare-migration.ts";
import { redactJson } from "./redact-json.ts";
import { redactToml } from "./redact-toml.ts";
import type { SettingsFile } from "./settings-file.ts";
import { editToml } from "./toml-settings.ts";

/** A change of a settings file that has not been written yet. */
export interface SettingsChange extends FileChange {
  readonly displayPath: string;
  /** With each secret replaced by "…". */
  readonly lines: readonly DiffLine[];
}

/** Returns the changes of those files that do not have the settings yet. Throws a MigrationError if a file cannot be read or edited. */
export function planSettings(
  files: readonly SettingsFile[],
  host: HostEnvironment,
): readonly SettingsChange[] {
  return files.flatMap((file) => {
    const { path, format } = file;
    const displayPath = toDisplayPath(path, host);
    const before = readIfExists(path);
    const after = editSettings(before, displayPath, file);
    if (after === before) return [];
    const redact = format === "json" ? redactJson : redactToml;
    const shown = { file: displayPath, before: before?.trim() === "" ? "" : before, after };
    const lines = createUnifiedDiff(shown, (text) => (text === "" ? "" : redact(text)));
    return [{ file: path, displayPath, before, after, lines }];
  });
}

/** Writes the changes. Returns the paths of the backups. */
export function writeSettings(changes: readonly SettingsChange[]): readonly string[] {
  const backups = changes.flatMap(({ file, before }) =>
    before === undefined ? [] : [createBackup(file)],
  );
  for (const { file, after } of changes) writeFileAtomic(file, after);
  return backups;
}

/** Returns the settings as a new file would contain them. */
export function formatSettings(file: SettingsFile): string {
  return editSettings(undefined, file.path, file);
}

function editSettings(text: string | undefined, displayPath: string, file: SettingsFile): string {
  return file.format === "json"
    ? editJson(text, displayPath, file.settings)
    : editToml(text, displayPath, file.settings);
}
