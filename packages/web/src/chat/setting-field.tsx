import { useId, type ComponentProps, type ReactNode } from "react";
import type { ChatChoices, DefaultSettings } from "@deltawire/tasks/chats";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import type { FieldName, SettingsForm } from "./settings-form.ts";
import { settingsWords } from "./settings-words.ts";

/** What every section of the settings gets. */
export interface SectionProps {
  form: SettingsForm;
  choices: ChatChoices | undefined;
  defaults: DefaultSettings | undefined;
  /** What is wrong at a field, by its path. */
  errorAt: (field: string) => string | undefined;
  /** With the field that is changed: what was wrong there may be right now. */
  change: (field: string, patch: Partial<SettingsForm>) => void;
  set: <Name extends FieldName>(name: Name, value: SettingsForm[Name]) => void;
  /** What surrounds the control of a field: what is wrong, and the way back to what is configured. */
  field: (name: FieldName) => Pick<SettingFieldProps, "error" | "isSaid" | "onReset">;
  /** The value of a control for text, and what changes it. */
  text: (name: TextName) => { value: string; onChange: (event: TextEvent) => void };
}

type TextName = {
  [Name in FieldName]: SettingsForm[Name] extends string ? Name : never;
}[FieldName];
type TextEvent = { readonly currentTarget: { readonly value: string } };

interface SettingFieldProps extends ComponentProps<typeof Field> {
  /** The chat says something of its own here. */
  isSaid: boolean;
  onReset: () => void;
}

/** A field that can go back to what the gateway has configured. */
export function SettingField({ isSaid, onReset, ...field }: SettingFieldProps) {
  return (
    <div className="chat-setting">
      <Field {...field} />
      {isSaid && <Reset name={field.label} onReset={onReset} />}
    </div>
  );
}

interface SettingGroupProps {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  isSaid?: boolean | undefined;
  onReset?: (() => void) | undefined;
  disabled?: boolean | undefined;
  children: ReactNode;
}

/** Several controls that say one thing. */
export function SettingGroup(props: SettingGroupProps) {
  const { label, hint, error, isSaid = false, onReset, disabled, children } = props;
  const id = useId();
  return (
    <fieldset
      className="chat-setting-group"
      disabled={disabled}
      aria-describedby={hint === undefined ? undefined : `${id}-hint`}
    >
      <legend>{label}</legend>
      {isSaid && onReset !== undefined && <Reset name={label} onReset={onReset} />}
      {hint !== undefined && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {children}
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function Reset({ name, onReset }: { name: string; onReset: () => void }) {
  const words = useWords(settingsWords);
  return (
    <Button
      small
      kind="ghost"
      icon="undo"
      className="chat-setting-reset"
      aria-label={words.reset(name)}
      title={words.reset(name)}
      onClick={onReset}
    >
      {words.resetShort}
    </Button>
  );
}
