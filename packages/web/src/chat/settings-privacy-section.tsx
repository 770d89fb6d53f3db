import type { PrivacyKind } from "@deltawire/tasks/chats";
import { Button, IconButton } from "../ui/button.tsx";
import { Field, Input, Select, Switch } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { SettingGroup, type SettingsSectionProps } from "./setting-field.tsx";
import { toPrivacyForm, type PrivacyForm, type PrivacyRow } from "./settings-form.ts";
import {
  privacyKindDescriptions,
  privacyKindMessages,
  settingsMessages,
} from "./settings-messages.ts";

interface PrivacySectionProps extends SettingsSectionProps {
  /** True while an answer runs, when privacy settings cannot be changed. */
  isLocked: boolean;
}

/** Private values that are masked before models see them. */
export function PrivacySection(props: PrivacySectionProps) {
  const { form, defaults, getError, changeForm, getFieldProps, isLocked } = props;
  const t = useMessages(settingsMessages);
  const kindLabels = useMessages(privacyKindMessages);
  const defaultPrivacy =
    defaults?.privacy === undefined ? disabledPrivacy : toPrivacyForm(defaults.privacy);
  const { enabled, fields } = form.privacy ?? defaultPrivacy;
  const setPrivacy = (patch: Partial<PrivacyForm>, path = "privacy") =>
    changeForm(path, { privacy: { enabled, fields, ...patch } });
  return (
    <>
      {isLocked && (
        <p className="chat-notice" data-kind="warning" role="status">
          <Icon name="info" small />
          <span>{t.maskLocked}</span>
        </p>
      )}
      <SettingGroup
        label={t.privacy}
        hint={t.maskHint}
        {...getFieldProps("privacy")}
        disabled={isLocked}
      >
        <Switch
          label={t.mask}
          checked={enabled}
          disabled={isLocked}
          onChange={(isOn) =>
            // If there are no rows, turning masking on adds the default rows.
            setPrivacy({
              enabled: isOn,
              fields: isOn && fields.length === 0 ? defaultRows : fields,
            })
          }
        />
      </SettingGroup>
      {!enabled && (
        <p className="field-hint">
          {t.wouldMask([
            ...new Set(
              (fields.length === 0 ? defaultRows : fields).map(({ kind }) => kindLabels[kind]),
            ),
          ])}
        </p>
      )}
      {enabled && (
        <SettingGroup label={t.fields} disabled={isLocked}>
          {fields.length === 0 && <p className="field-hint">{t.noFields}</p>}
          {fields.map((row, index) => (
            <PrivacyFieldRow
              key={index}
              row={row}
              number={index + 1}
              error={getError(`privacy.fields[${index}]`)}
              onChange={(next) =>
                setPrivacy({ fields: fields.with(index, next) }, `privacy.fields[${index}]`)
              }
              onRemove={() =>
                setPrivacy({ fields: fields.filter((_, otherIndex) => otherIndex !== index) })
              }
            />
          ))}
          <div>
            <Button
              icon="add"
              onClick={() => setPrivacy({ fields: [...fields, createEmptyRow("name")] })}
            >
              {t.addField}
            </Button>
          </div>
        </SettingGroup>
      )}
      <p className="field-hint">{t.cannotMask}</p>
    </>
  );
}

interface PrivacyFieldRowProps {
  row: PrivacyRow;
  number: number;
  error: string | undefined;
  onChange: (row: PrivacyRow) => void;
  onRemove: () => void;
}

function PrivacyFieldRow({ row, number, error, onChange, onRemove }: PrivacyFieldRowProps) {
  const t = useMessages(settingsMessages);
  const kindLabels = useMessages(privacyKindMessages);
  const kindDescriptions = useMessages(privacyKindDescriptions);
  const { kind, value, pattern, label } = row;
  const needsValue = kind === "name" || kind === "text";
  return (
    <div className="chat-privacy-row" role="group" aria-label={t.field(number)}>
      <Field label={t.kind}>
        <Select
          value={kind}
          onChange={(event) => onChange({ ...row, kind: event.currentTarget.value as PrivacyKind })}
        >
          {privacyKinds.map((option) => (
            <option key={option} value={option}>
              {kindLabels[option]}
            </option>
          ))}
        </Select>
      </Field>
      {kind === "pattern" ? (
        <Field label={t.pattern} error={error}>
          <Input
            className="chat-settings-json"
            spellCheck={false}
            value={pattern}
            onChange={(event) => onChange({ ...row, pattern: event.currentTarget.value })}
          />
        </Field>
      ) : (
        <Field label={needsValue ? t.value : t.valueOptional} error={error}>
          <Input
            dir="auto"
            autoComplete="off"
            value={value}
            onChange={(event) => onChange({ ...row, value: event.currentTarget.value })}
          />
        </Field>
      )}
      <Field label={t.label}>
        <Input
          dir="auto"
          placeholder={kind.toUpperCase()}
          value={label}
          onChange={(event) => onChange({ ...row, label: event.currentTarget.value })}
        />
      </Field>
      <IconButton icon="trash" label={t.removeField(number)} onClick={onRemove} />
      <p className="chat-privacy-description">{kindDescriptions[kind]}</p>
    </div>
  );
}

const privacyKinds: readonly PrivacyKind[] = [
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

const disabledPrivacy: PrivacyForm = { enabled: false, fields: [] };
const defaultRows = (["email", "phone", "card", "key", "password"] as const).map(createEmptyRow);

function createEmptyRow(kind: PrivacyKind): PrivacyRow {
  return { kind, value: "", pattern: "", label: "" };
}
