/** A settings file of a program, and what it must contain. */
export type SettingsFile =
  | { readonly path: string; readonly format: "json"; readonly settings: readonly Setting[] }
  | {
      readonly path: string;
      readonly format: "toml";
      readonly settings: readonly Setting<string>[];
    };

/** A value in a settings file; the objects or tables around it are created if needed. */
export interface Setting<Value extends JsonValue = JsonValue> {
  readonly path: readonly string[];
  readonly value: Value;
}

export type JsonValue =
  | string
  | number
  | boolean
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };
