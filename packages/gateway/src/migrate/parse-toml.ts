import { parse, TomlError, type TomlTable } from "smol-toml";
import { explainTomlError } from "../config/explain-toml-error.ts";
import { MigrationError } from "./migration-error.ts";

/** Parses a TOML document. Throws a MigrationError with the line if it is invalid. */
export function parseToml(text: string, file: string): TomlTable {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new MigrationError(`${file}:${explainTomlError(text, error)}`);
  }
}
