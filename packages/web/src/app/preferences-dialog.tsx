import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Select } from "../parts/field.tsx";
import type { Preferences } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { languages } from "../words/words.ts";
import { appWords } from "./words.ts";

/** They hold at once, and in this browser. */
export function PreferencesDialog({ onClose }: { onClose: () => void }) {
  const words = useWords(appWords);
  return (
    <Dialog
      title={words.preferences}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {words.done}
        </Button>
      }
    >
      <div className="app-preferences">
        <Choice
          name="language"
          label={words.language}
          options={languages.map(({ language, name }) => [language, name])}
        />
        <Choice
          name="theme"
          label={words.theme}
          options={[
            ["system", words.themeSystem],
            ["light", words.themeLight],
            ["dark", words.themeDark],
          ]}
        />
        <Choice
          name="follow"
          label={words.follow}
          options={[
            ["end", words.followEnd],
            ["start", words.followStart],
          ]}
        />
        <Choice
          name="reasoning"
          label={words.reasoning}
          options={[
            ["folded", words.reasoningFolded],
            ["open", words.reasoningOpen],
          ]}
        />
        <Choice
          name="sendKey"
          label={words.sendKey}
          options={[
            ["enter", words.sendKeyEnter],
            ["mod+enter", words.sendKeyMod],
          ]}
        />
      </div>
    </Dialog>
  );
}

interface ChoiceProps<Name extends keyof Preferences> {
  name: Name;
  label: string;
  options: readonly (readonly [value: Preferences[Name], label: string])[];
}

function Choice<Name extends keyof Preferences>({ name, label, options }: ChoiceProps<Name>) {
  const { preferences } = usePage();
  const value = useCell(preferences)[name];
  return (
    <Field label={label}>
      <Select
        value={value}
        onChange={(event) => {
          const chosen = options.find(([each]) => each === event.currentTarget.value)?.[0];
          if (chosen !== undefined) preferences.change({ [name]: chosen });
        }}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </Select>
    </Field>
  );
}
