import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Makes Elasticsearch 1.5 start on Java 9 and later, which have no boot class path: replaces the call that asks for it
 * by an empty text. Usage: Patch JAR FOLDER. Writes the changed class to the folder, to be put before the jar.
 */
public final class Patch {
    private static final String NAME = "org/elasticsearch/monitor/jvm/JvmInfo.class";

    public static void main(String[] arguments) throws Exception {
        ClassWriter writer = new ClassWriter(0);
        try (JarFile jar = new JarFile(arguments[0]); InputStream bytes = jar.getInputStream(jar.getEntry(NAME))) {
            new ClassReader(bytes).accept(new Calls(writer), 0);
        }
        Path path = Path.of(arguments[1], NAME);
        Files.createDirectories(path.getParent());
        Files.write(path, writer.toByteArray());
    }

    private static final class Calls extends ClassVisitor {
        Calls(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
            return new MethodVisitor(api, super.visitMethod(access, name, type, signature, thrown)) {
                @Override
                public void visitMethodInsn(int code, String owner, String called, String type, boolean isInterface) {
                    if (called.equals("getBootClassPath")) {
                        super.visitInsn(Opcodes.POP);
                        super.visitLdcInsn("");
                    } else {
                        super.visitMethodInsn(code, owner, called, type, isInterface);
                    }
                }
            };
        }
    }
}
