import type { PrivacyKind } from "@deltawire/tasks/chats";
import { Button, IconButton } from "../parts/button.tsx";
import { Field, Input, Select, Switch } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { SettingGroup, type SectionProps } from "./setting-field.tsx";
import { privacyForm, type PrivacyForm, type PrivacyRow } from "./settings-form.ts";
import { privacyFindsWords, privacyKindWords, settingsWords } from "./settings-words.ts";

interface PrivacySettingsProps extends SectionProps {
  /** While an answer runs nothing of it can be changed. */
  isLocked: boolean;
}

/** What no model is told. */
export function PrivacySettings(props: PrivacySettingsProps) {
  const { form, defaults, errorAt, change, field, isLocked } = props;
  const words = useWords(settingsWords);
  const kindWords = useWords(privacyKindWords);
  const usual = defaults?.privacy === undefined ? nothing : privacyForm(defaults.privacy);
  const { enabled, fields } = form.privacy ?? usual;
  const set = (patch: Partial<PrivacyForm>, path = "privacy") =>
    change(path, { privacy: { enabled, fields, ...patch } });
  return (
    <>
      {isLocked && (
        <p className="chat-notice" data-kind="warning" role="status">
          <Icon name="info" small />
          <span>{words.maskLocked}</span>
        </p>
      )}
      <SettingGroup
        label={words.privacy}
        hint={words.maskHint}
        {...field("privacy")}
        disabled={isLocked}
      >
        <Switch
          label={words.mask}
          checked={enabled}
          disabled={isLocked}
          onChange={(on) =>
            // Whoever switches it on for the first time sees what it could be.
            set({ enabled: on, fields: on && fields.length === 0 ? firstRows : fields })
          }
        />
      </SettingGroup>
      {!enabled && (
        <p className="field-hint">
          {words.wouldMask([
            ...new Set(
              (fields.length === 0 ? firstRows : fields).map(({ kind }) => kindWords[kind]),
            ),
          ])}
        </p>
      )}
      {enabled && (
        <SettingGroup label={words.fields} disabled={isLocked}>
          {fields.length === 0 && <p className="field-hint">{words.noFields}</p>}
          {fields.map((row, index) => (
            <Row
              key={index}
              row={row}
              number={index + 1}
              error={errorAt(`privacy.fields[${index}]`)}
              onChange={(next) =>
                set({ fields: fields.with(index, next) }, `privacy.fields[${index}]`)
              }
              onRemove={() => set({ fields: fields.filter((_, at) => at !== index) })}
            />
          ))}
          <div>
            <Button icon="add" onClick={() => set({ fields: [...fields, emptyRow("name")] })}>
              {words.addField}
            </Button>
          </div>
        </SettingGroup>
      )}
      <p className="field-hint">{words.cannotMask}</p>
    </>
  );
}

interface RowProps {
  row: PrivacyRow;
  number: number;
  error: string | undefined;
  onChange: (row: PrivacyRow) => void;
  onRemove: () => void;
}

function Row({ row, number, error, onChange, onRemove }: RowProps) {
  const words = useWords(settingsWords);
  const kindWords = useWords(privacyKindWords);
  const finds = useWords(privacyFindsWords);
  const { kind, value, pattern, label } = row;
  const needsValue = kind === "name" || kind === "text";
  return (
    <div className="chat-privacy-row" role="group" aria-label={words.field(number)}>
      <Field label={words.kind}>
        <Select
          value={kind}
          onChange={(event) => onChange({ ...row, kind: event.currentTarget.value as PrivacyKind })}
        >
          {kinds.map((each) => (
            <option key={each} value={each}>
              {kindWords[each]}
            </option>
          ))}
        </Select>
      </Field>
      {kind === "pattern" ? (
        <Field label={words.pattern} error={error}>
          <Input
            className="chat-settings-json"
            spellCheck={false}
            value={pattern}
            onChange={(event) => onChange({ ...row, pattern: event.currentTarget.value })}
          />
        </Field>
      ) : (
        <Field label={needsValue ? words.value : words.valueOptional} error={error}>
          <Input
            dir="auto"
            autoComplete="off"
            value={value}
            onChange={(event) => onChange({ ...row, value: event.currentTarget.value })}
          />
        </Field>
      )}
      <Field label={words.label}>
        <Input
          dir="auto"
          placeholder={kind.toUpperCase()}
          value={label}
          onChange={(event) => onChange({ ...row, label: event.currentTarget.value })}
        />
      </Field>
      <IconButton icon="trash" label={words.removeField(number)} onClick={onRemove} />
      <p className="chat-privacy-finds">{finds[kind]}</p>
    </div>
  );
}

const kinds: readonly PrivacyKind[] = [
  "email",
  "phone",
  "card",
  "key",
  "password",
  "id",
  "name",
  "text",
  "pattern",
];

const nothing: PrivacyForm = { enabled: false, fields: [] };
const firstRows = (["email", "phone", "card", "key", "password"] as const).map(emptyRow);

function emptyRow(kind: PrivacyKind): PrivacyRow {
  return { kind, value: "", pattern: "", label: "" };
}
