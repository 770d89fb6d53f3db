import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Select } from "../ui/field.tsx";
import type { Preferences } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { languages } from "../messages/define-messages.ts";
import { appMessages } from "./messages.ts";

/** Changes apply immediately and are stored in this browser. */
export function PreferencesDialog({ onClose }: { onClose: () => void }) {
  const t = useMessages(appMessages);
  return (
    <Dialog
      title={t.preferences}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t.done}
        </Button>
      }
    >
      <div className="app-preferences">
        <PreferenceSelect
          name="language"
          label={t.language}
          options={languages.map(({ language, name }) => [language, name])}
        />
        <PreferenceSelect
          name="theme"
          label={t.theme}
          options={[
            ["system", t.themeSystem],
            ["light", t.themeLight],
            ["dark", t.themeDark],
          ]}
        />
        <PreferenceSelect
          name="follow"
          label={t.follow}
          options={[
            ["end", t.followEnd],
            ["start", t.followStart],
          ]}
        />
        <PreferenceSelect
          name="reasoning"
          label={t.reasoning}
          options={[
            ["folded", t.reasoningFolded],
            ["open", t.reasoningOpen],
          ]}
        />
        <PreferenceSelect
          name="sendKey"
          label={t.sendKey}
          options={[
            ["enter", t.sendKeyEnter],
            ["mod+enter", t.sendKeyMod],
          ]}
        />
      </div>
    </Dialog>
  );
}

interface PreferenceSelectProps<Name extends keyof Preferences> {
  name: Name;
  label: string;
  options: readonly (readonly [value: Preferences[Name], label: string])[];
}

function PreferenceSelect<Name extends keyof Preferences>({
  name,
  label,
  options,
}: PreferenceSelectProps<Name>) {
  const { preferences } = useAppStore();
  const value = useCell(preferences)[name];
  return (
    <Field label={label}>
      <Select
        value={value}
        onChange={(event) => {
          const selectedOption = options.find(
            ([option]) => option === event.currentTarget.value,
          )?.[0];
          if (selectedOption !== undefined) preferences.change({ [name]: selectedOption });
        }}
      >
        {options.map(([option, optionLabel]) => (
          <option key={option} value={option}>
            {optionLabel}
          </option>
        ))}
      </Select>
    </Field>
  );
}
