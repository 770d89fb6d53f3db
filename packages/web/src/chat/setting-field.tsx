import { useId, type ComponentProps, type ReactNode } from "react";
import type { ChatChoices, DefaultSettings } from "@deltawire/tasks/chats";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { useMessages } from "../messages/use-messages.ts";
import type { FieldName, SettingsForm } from "./settings-form.ts";
import { settingsMessages } from "./settings-messages.ts";

/** Props of every settings section. */
export interface SettingsSectionProps {
  form: SettingsForm;
  choices: ChatChoices | undefined;
  defaults: DefaultSettings | undefined;
  /** Returns the error message of the field with this path. */
  getError: (path: string) => string | undefined;
  /** Changes the form and clears the error of the field with this path. */
  changeForm: (path: string, patch: Partial<SettingsForm>) => void;
  /** Changes a single field and clears its error. */
  setField: <Name extends FieldName>(name: Name, value: SettingsForm[Name]) => void;
  /** Returns the props of a `SettingField`. */
  getFieldProps: (name: FieldName) => Pick<SettingFieldProps, "error" | "isOverridden" | "onReset">;
  /** Returns the props of a text input. */
  getTextProps: (name: TextFieldName) => {
    value: string;
    onChange: (event: TextChangeEvent) => void;
  };
}

type TextFieldName = {
  [Name in FieldName]: SettingsForm[Name] extends string ? Name : never;
}[FieldName];
type TextChangeEvent = { readonly currentTarget: { readonly value: string } };

interface SettingFieldProps extends ComponentProps<typeof Field> {
  /** True if the chat overrides the gateway's default. */
  isOverridden: boolean;
  onReset: () => void;
}

/** A field that can be reset to the gateway's default. */
export function SettingField({ isOverridden, onReset, ...field }: SettingFieldProps) {
  return (
    <div className="chat-setting">
      <Field {...field} />
      {isOverridden && <ResetButton name={field.label} onReset={onReset} />}
    </div>
  );
}

interface SettingGroupProps {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  isOverridden?: boolean | undefined;
  onReset?: (() => void) | undefined;
  disabled?: boolean | undefined;
  children: ReactNode;
}

/** Several controls for one setting. */
export function SettingGroup(props: SettingGroupProps) {
  const { label, hint, error, isOverridden = false, onReset, disabled, children } = props;
  const id = useId();
  return (
    <fieldset
      className="chat-setting-group"
      disabled={disabled}
      aria-describedby={hint === undefined ? undefined : `${id}-hint`}
    >
      <legend>{label}</legend>
      {isOverridden && onReset !== undefined && <ResetButton name={label} onReset={onReset} />}
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

function ResetButton({ name, onReset }: { name: string; onReset: () => void }) {
  const t = useMessages(settingsMessages);
  return (
    <Button
      small
      kind="ghost"
      icon="undo"
      className="chat-setting-reset"
      aria-label={t.reset(name)}
      title={t.reset(name)}
      onClick={onReset}
    >
      {t.resetShort}
    </Button>
  );
}
